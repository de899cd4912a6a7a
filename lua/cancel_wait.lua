-- SPDX-License-Identifier: Apache-2.0
-- A process without any waiting request leaves the line. Processes that were told to come later than it may come
-- earlier, and are told so. What it was granted is remembered while others wait: if its clients come and give up all
-- the time, they do not count as new each time.
-- KEYS: head; the line of lanes, if it is not the upstream's.
-- ARGV: 1 the caller · 2 generation · 3 how channels begin: "<prefix>:to:" · 4 upstream · 5 the key of that line, ''
--   the upstream's
-- Answer: ok|stale.
local me, channel, upstream, key = ARGV[1], ARGV[3], ARGV[4], ARGV[5]
local head = head_read()
if head.gen ~= ARGV[2] then return 'stale' end

local narrow = key ~= ''
local line, text = line_part(), head.line
if narrow then text = read(KEYS[2]) end
if not text then return 'ok' end
local all = narrow and line.parse_narrow(text, KEYS[2], head.now) or line.parse(text, KEYS[1], head.now)
local gone = line.find(all, me)
if not gone then return 'ok' end
local told = gone.at
gone.wants, gone.at = 0, head.now
if gone.had == 0 then line.drop(all, me) end
if not line.somebody_wants(all) then all = {} end
if narrow then
  line.write_narrow(all, KEYS[2], head.now)
else
  head.line = line.text_of(all)
  head_write(head)
end
tell_waiting(all, told, channel, upstream, key)
return 'ok'
