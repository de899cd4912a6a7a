-- SPDX-License-Identifier: Apache-2.0
-- Gives up the turns of a process that has nobody waiting any more; those behind are told that they may come earlier.
-- KEYS: head; the turns of a group, if it is one of its lanes.
-- ARGV: 1 me · 2 generation · 3 how channels begin: "<prefix>:to:" · 4 upstream · 5 group's hash, '' none ·
--   6 gives up: u the turn among the upstream's, g the one among the group's
-- Answer: ok|stale.
local me, channel, upstream, group = ARGV[1], ARGV[3], ARGV[4], ARGV[5]
local head = head_read(KEYS[1], '', 0)
if head.gen ~= ARGV[2] then return 'stale' end

local of_group = ARGV[6] == 'g'
local turns = of_group and group_turns_read(KEYS[2], head.now) or head.turns
local _, place = turn_of(turns, me)
if not place then return 'ok' end
drop_turn(turns, me)
if of_group then group_turns_write(turns, head.now) else head_write(head) end
tell_waiting(turns, place, channel, upstream, of_group and group or '')
return 'ok'
