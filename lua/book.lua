-- SPDX-License-Identifier: Apache-2.0
-- Books departures for one lane: times within the horizon, or a turn for later. All limits commit, or none does.
-- KEYS: head, alive, hold; with a group its hold and its turns; then one for each limit, in the configuration's
--   order.
-- A weight of 0 is no departure: a tunnel that rested goes on, and takes of each semaphore one permit. Nothing else is
-- looked at, and nobody waits for a turn.
-- ARGV: 1 me · 2 the generation that I know, '' none · 3 a fresh generation's name · 4 processes alive, as far as I
--   know · 5 touch 0|1 · 6 group's hash, '' none · 7 n · 8 their weight · from 9 on six for each limit:
--   kind, scope u|g, mode d|r, and pacer qps maxBurst factor · window reservoir interval spread · slidingWindow max
--   interval 0 · tokenBucket capacity refillAmount refillFrequency · counter max period 0 · semaphore capacity lease
--   "returned:claimed:spare:others" (see semaphore.lua) · '-' instead of a kind leaves the limit out
-- Answer: 1 generation · 2 ok|stale|closed · 3 now · 4 alive; without a touch they are not counted: -n, at
--   least n · 5 stop: ''|turn|permit|refused · 6 scope u|g · 7 the limit that stops, from 0; -1 none, -2 hold · 8 ask
--   again at, 0 none · 9 not before, 0 none · 10 of each semaphore the permits granted in total, and how many of the
--   claimed ones are lost · 11 departures: at, limit, at, limit, …
local alive, grouped = tonumber(ARGV[4]), ARGV[6] ~= ''
local head = head_read(ARGV[3], alive)
local now = head.now

local stale = ARGV[2] ~= '' and ARGV[2] ~= head.gen
if stale or head_closed(head) then
  if head.is_new then head_write(head) end
  local again = stale and 0 or head.birth + kClosedFor
  return { head.gen, stale and 'stale' or 'closed', now, 0, '', 'u', -1, again, 0, {}, {} }
end

local a = { me = ARGV[1], n = tonumber(ARGV[7]), w = tonumber(ARGV[8]), now = now, base = now, granted = 0,
            departures = {}, wide = {}, narrow = grouped and {} or nil, stop = '', letter = 'u', again = 0,
            not_before = 0 }
local may_refuse, first_key = false, grouped and 6 or 4
for i = 0, #KEYS - first_key do
  local l = limit_read(i, KEYS[first_key + i], 9, now)
  if l.kind.take then
    a.semaphores = a.semaphores or {}
    l.kind.enter(l, head.birth)
  end
  if l.kind.take or a.w > 0 then
    local list = l.kind.take and a.semaphores or l.letter == 'g' and a.narrow or a.wide
    list[#list + 1] = l
    may_refuse = may_refuse or l.refuses
    if l.kind.off_edge then add_window(a, l) end
  end
end

-- Where only the groups have limits, the group's scope plays the part of the wide one, with its list of turns.
a.only_groups = grouped and #a.wide == 0 and #a.narrow > 0
if a.only_groups then a.wide, a.narrow, a.wide_windows = a.narrow, nil, a.windows end
local wide, narrow = a.wide, a.narrow
if grouped and a.w > 0 then add_hold(narrow or wide, KEYS[4], 'g') end
if a.w > 0 then add_hold(wide, KEYS[3], 'u') end

local group_text = grouped and read(KEYS[5])
local waiting, head_turns
local function somebody_waits()
  a.line = turns_part()
  waiting = waiting_part(a.line)
  head_turns = a.line.parse(head.turns, KEYS[1], now)
  a.group_turns = a.line.parse_group(group_text or '1t', KEYS[5], now)
  a.turns = a.only_groups and a.group_turns or head_turns
end
if a.w > 0 and (head.turns ~= '' or group_text) then somebody_waits() end

local touches = ARGV[5] == '1'
if touches then alive = touch(KEYS[2], a.me, now) end
local seen = a.line and a.line.processes(a.turns, a.me) or 0
alive = math.max(1, alive, seen)

local share, share_by = share_of(a, alive)
if waiting then
  waiting.convert(a, share)
  waiting.collect(a)
end
-- Who took what its turn became takes no more of it now: so each has one share in a round, however early it asks. Who
-- is alone has no share to keep to.
local entitled = a.granted > 0 and a.granted or share
local most = alive > 1 and math.min(a.n, entitled) or a.n
while a.stop == '' and a.granted < most do
  if may_refuse and refused(a) then break end
  local t, limit = next_departure(a)
  if a.stop ~= '' or no_permit(a) then break end
  commit(wide, t, a.w)
  if narrow then commit(narrow, t, a.w) end
  grant(a, t, limit and limit.index or -1)
end
if a.stop == '' and a.granted < a.n then
  stop_at(a, 'turn', a.only_groups and 'g' or 'u', share_by, 0)
end
if not waiting and a.w > 0 and a.stop == 'turn' and a.not_before > 0 then somebody_waits() end
if waiting then waiting.settle(a, entitled) end

write_changed(wide, now)
if narrow then write_changed(narrow, now) end
local permits = {}
for i = 1, a.semaphores and #a.semaphores or 0 do
  local l = a.semaphores[i]
  permits[2 * i - 1] = l.kind.take(l, a.granted, a.stop == 'permit' and l == a.by and a.n - a.granted or 0)
  permits[2 * i] = l.lost
end
if waiting then
  head.turns = a.line.text_of(head_turns)
  if grouped then a.line.write_group(a.group_turns, KEYS[5], now) end
end
head_write(head)
return { head.gen, 'ok', now, touches and alive or -seen, a.stop, a.letter, a.by and a.by.index or -1, a.again,
         a.not_before, permits, a.departures }
