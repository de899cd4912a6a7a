-- SPDX-License-Identifier: Apache-2.0
-- Called by each connection before any other script: since when the server remembers everything. If no key says so, and
-- the process has just begun and is the first to come, the server is new, and so is all that will be asked of it.
-- KEYS: born.   ARGV: 1 the server's id · 2 the process has just begun 0|1 · 3 the channel that every process hears
-- Answer: since when the server has forgotten nothing.
local heard = ARGV[2] == '1' and redis.pcall('PUBSUB', 'NUMSUB', ARGV[3])
local is_first = heard and heard[2] == 0
return begin_part().remembers_since(KEYS[1], ARGV[1], clock_time(), is_first)
