-- SPDX-License-Identifier: Apache-2.0
-- Calls each command that our scripts call, so that a command that Redis refuses is known before limits are shared. It
-- needs one key, a text that expires: a command for another type answers WRONGTYPE there, which shows that it is
-- allowed, and leaves nothing behind. LSET answers that there is no such key if SET is not allowed.
-- KEYS: a key that no limit has; a key outside of all upstreams.   ARGV: a channel without listeners.
-- Answer: two texts for each call that failed: the command, and Redis' words.
local key, failed = KEYS[1], {}
local function try(command, ...)
  local answer = redis.pcall(command, ...)
  local why = type(answer) == 'table' and answer.err
  if not why or string.find(why, '^WRONGTYPE') or string.find(why, '^ERR no such key') then return end
  failed[#failed + 1], failed[#failed + 2] = command, why
end

try('TIME')
try('SET', key, '1', 'PX', '1000')
try('SET', KEYS[2], '1', 'PX', '1000')
try('GET', key)
try('PTTL', key)
try('ZADD', key, '1', '1')
try('ZCARD', key)
try('ZCOUNT', key, '1', '1')
try('ZRANGE', key, '0', '0')
try('ZREMRANGEBYSCORE', key, '1', '1')
try('LINDEX', key, '0')
try('LLEN', key)
try('LSET', key, '0', '1')
try('LRANGE', key, '0', '0')
try('RPUSH', key, '1')
try('LTRIM', key, '1', '0')
try('RPOP', key)
try('PEXPIRE', key, '1000')
try('DEL', key)
try('PUBLISH', ARGV[1], '')
try('PUBSUB', 'NUMSUB', ARGV[1])
return failed
