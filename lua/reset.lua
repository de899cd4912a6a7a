-- SPDX-License-Identifier: Apache-2.0
-- The counter's reset. Whoever has the leader's lease, or finds it free, may: no sooner than a period after the reset before,
-- and it takes effect after the last departure that is booked. So a deposed leader, or two, do no harm, and after a gap there
-- is one reset and not several. Those who wait for a turn are told.
-- KEYS: head, counter; the turns of its group, if it is the counter of one.
-- ARGV: 1 me · 2 generation · 3 max · 4 period · 5 how channels begin · 6 upstream · 7 group's hash, '' none
-- Answer: 1 ok|stale|early|deposed|idle|gone · 2 now · 3 when to call again, 0: when the counter is used · 4 the reset's number
local kTakeOver = 1000000  -- a dead leader is replaced after half a period, at most after this

local me, period, group = ARGV[1], tonumber(ARGV[4]), ARGV[7]
local head = head_read('', 0)
local now = head.now
if head.gen ~= ARGV[2] then return { 'stale', now, 0, 0 } end

local l, kind = { key = KEYS[2] }, counter()
kind.read(l, read(l.key), now, tonumber(ARGV[3]), period)
if not l.reset then return { 'gone', now, 0, 0 } end
if l.leader ~= me and l.lease_end > now then return { 'deposed', now, l.lease_end, l.number } end

local due = whole(l.reset + period)
local line, text, turns = turns_part(), group == '' and head.turns or read(KEYS[3]), {}
if text and group ~= '' then turns = line.parse_group(text, KEYS[3], now) end
if group == '' then turns = line.parse(text, KEYS[1], now) end
if l.count == 0 and #turns == 0 then return { 'idle', now, 0, l.number } end
l.leader, l.lease_end = me, math.max(due, now) + math.min(period / 2, kTakeOver)
if now >= due then
  l.reset, l.count, l.number = math.max(now, l.last), 0, l.number + 1
  l.lease_end = l.lease_end + period
end
kind.write(l, now)
if now < due then return { 'early', now, due, l.number } end
head_write(head)
tell_waiting(turns, 1, ARGV[5], ARGV[6], group)
return { 'ok', now, whole(l.reset + period), l.number }
