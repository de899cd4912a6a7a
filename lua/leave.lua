-- SPDX-License-Identifier: Apache-2.0
-- Gives up the turns of a process that has nobody waiting any more; those behind are told that they may come earlier.
-- KEYS: head; the turns of a group, if it is one of its lanes.
-- ARGV: 1 me · 2 generation · 3 how channels begin: "<prefix>:to:" · 4 upstream · 5 group's hash, '' none ·
--   6 gives up: u the turn among the upstream's, g the one among the group's
-- Answer: ok|stale.
local me, channel, upstream, group = ARGV[1], ARGV[3], ARGV[4], ARGV[5]
local head = head_read('', 0)
if head.gen ~= ARGV[2] then return 'stale' end

local of_group = ARGV[6] == 'g'
local line, text = turns_part(), head.turns
if of_group then text = read(KEYS[2]) end
if not text then return 'ok' end
local turns = of_group and line.parse_group(text, KEYS[2], head.now) or line.parse(text, KEYS[1], head.now)
local place = line.drop(turns, me)
if not place then return 'ok' end
if of_group then
  line.write_group(turns, KEYS[2], head.now)
else
  head.turns = line.text_of(turns)
  head_write(head)
end
tell_waiting(turns, place, channel, upstream, of_group and group or '')
return 'ok'
