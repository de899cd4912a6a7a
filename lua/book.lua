-- SPDX-License-Identifier: Apache-2.0
-- Books departures for one lane: times within the horizon, or a place in the line for later ones. All limits commit, or
-- none does.
-- KEYS: head, alive, hold; with a group its hold and its line; then one for each limit, in the configuration's
--   order.
-- A weight of 0 is no departure: a tunnel that rested goes on, and takes of each semaphore one permit. Nothing else is
-- looked at, and nobody comes into the line for it; nor for no departures (n = 0), with which a process looks.
-- ARGV: 1 me · 2 the generation that I know, '' none · 3 a fresh generation's name · 4 processes alive, as far as I
--   know · 5 touch 0|1 · 6 group's hash, '' none · 7 n · 8 their weight · 9 units beyond these that could leave now if
--   the limits of the line let them · from 10 on six for each limit: kind, scope u|g, mode d|r, and pacer qps maxBurst factor · window reservoir interval spread · slidingWindow max
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

local a = { me = ARGV[1], n = tonumber(ARGV[7]), w = tonumber(ARGV[8]), more = tonumber(ARGV[9]), now = now, base = now,
            granted = 0, departures = {}, wide = {}, narrow = grouped and {} or nil, stop = '', letter = 'u', again = 0,
            not_before = 0 }
local may_refuse, first_key = false, grouped and 6 or 4
for i = 0, #KEYS - first_key do
  local l = limit_read(i, KEYS[first_key + i], 10, now)
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

-- Where only the groups have limits, the group's scope plays the part of the wide one, with its line.
a.only_groups = grouped and #a.wide == 0 and #a.narrow > 0
if a.only_groups then a.wide, a.narrow, a.wide_windows = a.narrow, nil, a.windows end
local wide, narrow = a.wide, a.narrow
if grouped and a.w > 0 then add_hold(narrow or wide, KEYS[4], 'g') end
if a.w > 0 then add_hold(wide, KEYS[3], 'u') end

local departs = a.w > 0 and a.n > 0
local group_text = grouped and departs and read(KEYS[5])
local line, level
local function somebody_waits()
  line = line_part()
  level, a.line_part = level_part(line), line
  if grouped then a.group_line = group_text and line.parse_group(group_text, KEYS[5], now) or {} end
  a.line = a.only_groups and a.group_line or line.parse(head.line, KEYS[1], now)
  level.enter(a)
end
if departs and (group_text or head.line ~= '' and not a.only_groups) then somebody_waits() end

local touches = ARGV[5] == '1'
if touches then alive = touch(KEYS[2], a.me, now) end
local seen = level and line.processes(a.line, a.me) or 0
alive = math.max(1, alive, seen)

local most, most_by = a.n, nil
if level then most, most_by = level.most_of(a) end
while a.stop == '' and a.granted < a.n do
  if may_refuse and refused(a) then break end
  if a.granted >= most then
    stop_at(a, 'turn', a.only_groups and 'g' or 'u', most_by, now + 1)
    break
  end
  local t, limit = next_departure(a)
  if a.stop ~= '' or no_permit(a) then break end
  commit(wide, t, a.w)
  if narrow then commit(narrow, t, a.w) end
  grant(a, t, limit and limit.index or -1)
end
if departs and a.stop == 'turn' and not level then somebody_waits() end
if level then level.settle(a) end

write_changed(wide, now)
if narrow then write_changed(narrow, now) end
local permits = {}
for i = 1, a.semaphores and #a.semaphores or 0 do
  local l = a.semaphores[i]
  permits[2 * i - 1] = l.kind.take(l, a.granted, a.stop == 'permit' and l == a.by and a.n - a.granted or 0)
  permits[2 * i] = l.lost
end
if level then
  if not a.only_groups then head.line = line.text_of(a.line) end
  if grouped and (group_text or a.group_line[1]) then line.write_group(a.group_line, KEYS[5], now) end
end
head_write(head)
return { head.gen, 'ok', now, touches and alive or -seen, a.stop, a.letter, a.by and a.by.index or -1, a.again,
         a.not_before, permits, a.departures }
