-- SPDX-License-Identifier: Apache-2.0
-- Books departures for one lane: times within the horizon, or a place in the line for later ones. All limits commit, or
-- none does.
-- A weight of 0 is no departure: a tunnel that rested goes on, and takes one permit of each semaphore. No other limit
-- is looked at, and the process does not enter the line; nor does it for no departures (n = 0), with which a process
-- looks.
-- KEYS: head, alive, pause; for a lane of a group or a route the group's pause, or one that never is, and the lane's
--   line; then one for each limit that governs the lane, in the configuration's order.
-- ARGV: 1 the caller · 2 the generation that it knows, '' none
--   3 the name of a fresh generation; behind a @ the server's id, if it is known; on a new connection, behind another
--     @, the latest time that the caller was told, and a mark: see parts_of in begin.lua
--   4 processes alive, as far as the caller knows
--   5 touch 0|1, or 2|3 where what is left need not be told; 0+ tells what is left of lists, too, as a touch does.
--     Behind a touch that also says that the process is there, whichever upstreams it uses (see present.lua), a blank
--     and the key of all processes
--   6 the key of the lane's line: the group's hash, @ and the route's, or both; '' none · 7 n · 8 their weight; behind a
--     blank their cost, where a limit counts that
--   9 units beyond these that could leave now if the limits of the line let them
--   10 the hash of the caller's limits; with a touch "hash host text", see limits_text.h
--   from 11 on six for each limit: kind, scope u|n (n: narrow, of a group or a route), mode d|r, D|R if it counts the
--     cost, and its parameters:
--     pacer qps maxBurst factor · window reservoir interval spread · slidingWindow max interval 0 · tokenBucket capacity
--     refillAmount refillFrequency · counter max period 0 · semaphore capacity lease and what the caller tells of itself
--     (see semaphore.lua); '-' instead of a kind leaves the limit out
-- Answer: 1 generation · 2 ok|stale|closed · 3 now · 4 alive; without a touch they are not counted: -n, at least n
--   5 stop: ''|turn|permit|refused · 6 scope u|n · 7 the limit that stops, from 0; -1 none, -2 a pause
--   8 ask again at, 0 none · 9 not before, 0 none
--   10 of each semaphore four numbers: the permits granted in total, how many of the claimed ones are lost, sharers and
--     look as in permits.lua
--   11 departures: at, limit, at, limit, …
--   12 if processes wait for the upstream's limits, for estimates: how many others wait; how many units less than the
--     caller these have had; and of each of these limits its number, and two more of its state: pacer the next free
--     moment, what the burst's bucket holds then · window, counter since when, units · tokenBucket the last refill,
--     what was missing then · adaptive the next free moment, the rate in millionths of a unit a second
--   13 of each limit two numbers, by which a process goes on that loses Redis: until when, and how many units are left,
--     as in flow::Remaining; 0: that is not told
--   14 with a touch what another process told of its limits, if they differ; '' none does
--   15 how many processes there are, if the touch asked for it
local alive, has_line = tonumber(ARGV[4]), ARGV[6] ~= ''
local head = head_read(ARGV[3], alive, ARGV[2])
local undecided, decided_at
if not head.is_here then head, undecided, decided_at = meet_part().meet(head, ARGV[3], alive, ARGV[2]) end
local now = head.now

local stale = ARGV[2] ~= '' and ARGV[2] ~= head.gen
if stale or undecided or head_closed(head) then
  if head.is_new or head.is_moved then head_write(head) end
  local again = stale and 0 or undecided and decided_at or head.birth + kClosedFor
  return { head.gen, stale and 'stale' or 'closed', now, 0, '', 'u', -1, again, 0, {}, {}, {} }
end

local away
if head.away > 0 or not (head.is_here or head.is_new) then away = come_back(head, ARGV[3], alive) end

local weight, cost = load_of(ARGV[8])
local a = { me = ARGV[1], n = tonumber(ARGV[7]), w = weight, more = tonumber(ARGV[9]), now = now, base = now,
            granted = 0, departures = {}, wide = {}, narrow = has_line and {} or nil, stop = '', letter = 'u', again = 0,
            not_before = 0 }
local may_refuse, first_key, left = false, has_line and 6 or 4, {}
for i = 0, #KEYS - first_key do
  local l = limit_read(i, KEYS[first_key + i], 11, now)
  left[2 * i + 1], left[2 * i + 2] = 0, 0
  if l.by_cost then l.cost, a.by_cost = cost, true end
  if l.kind.take then
    a.semaphores = a.semaphores or {}
    l.kind.enter(l, head.birth)
  end
  if l.kind.take or a.w > 0 then
    local list = l.kind.take and a.semaphores or l.letter == 'n' and a.narrow or a.wide
    list[#list + 1] = l
    may_refuse = may_refuse or l.refuses
    if l.kind.off_edge then add_window(a, l) end
  end
end

-- If only the group or the route has limits, the narrow scope plays the part of the wide one, with its line.
a.only_narrow = has_line and #a.wide == 0 and #a.narrow > 0
if a.only_narrow then a.wide, a.narrow, a.wide_windows = a.narrow, nil, a.windows end
local wide, narrow = a.wide, a.narrow
-- A lane whose group is paused would hold a place until the pause ends. In a line that begins with @ lanes of all
-- groups stand, and that place is theirs as well.
local paused
if has_line and a.w > 0 then
  local scope = narrow or wide
  local till = add_pause(scope, KEYS[4], 'n')
  if till > now + kHorizon and string.sub(ARGV[6], 1, 1) == '@' then paused = scope[#scope] end
end
if a.w > 0 then add_pause(wide, KEYS[3], 'u') end

local departs = a.w > 0 and a.n > 0 and not paused
if head.away > 0 and departs then
  for _, scope in ipairs({ wide, narrow }) do
    for i = 1, #scope do away.keep_back(scope[i], a.w) end
  end
  if away.shuts() then add_gate(wide, head.away, a.only_narrow and 'n' or 'u', -1) end
end
local narrow_text = has_line and departs and read(KEYS[5])
local line, level
local function somebody_waits()
  line, a.hash = line_part(), string.match(ARGV[10], '^%x+')
  level, a.line_part = level_part(line), line
  if has_line then a.narrow_line = narrow_text and line.parse_narrow(narrow_text, KEYS[5], now) or {} end
  a.line = a.only_narrow and a.narrow_line or line.parse(head.line, KEYS[1], now)
  level.enter(a)
end
if departs and (narrow_text or head.line ~= '' and not a.only_narrow) then somebody_waits() end

local touches, others_limits, there = string.find(ARGV[5], '^[13]') ~= nil, nil, nil
if touches then
  others_limits = ''
  alive = touch(KEYS[2], a.me, now, kDay)
  local key, hash = string.gsub(KEYS[2], 'alive$', 'limits'), string.match(ARGV[10], '^%x+ ')
  local told = touch(key, ARGV[10], now) > 1 and redis.call('ZRANGE', key, 0, -1) or {}
  for i = 1, #told do
    if string.sub(told[i], 1, #hash) ~= hash then others_limits = told[i] end
  end
  local all_processes = string.match(ARGV[5], ' (.+)')
  if all_processes then
    local is_counted, count = pcall(touch, all_processes, a.me, clock_time())   -- a foreign value under the key stops no booking
    there = is_counted and count or 0
  end
end
local seen = level and line.processes(a.line, a.me) or 0
alive = math.max(1, alive, seen, away and away.count() or 0)

local most, most_by = a.n, nil
if level then most, most_by = level.most_of(a) end
while a.stop == '' and a.granted < a.n do
  if may_refuse and refused(a) then break end
  if a.granted >= most then
    stop_at(a, 'turn', a.only_narrow and 'n' or 'u', most_by, now + 1)
    break
  end
  local t, limit = next_departure(a)
  if a.stop ~= '' or no_permit(a) then break end
  commit(wide, t, a.w)
  if narrow then commit(narrow, t, a.w) end
  grant(a, t, limit and limit.index or -1)
end
if paused and a.stop == 'turn' then
  stop_at(a, 'turn', 'n', paused, paused.kind.front())
  a.again = a.not_before
end
if departs and a.stop == 'turn' and not level then somebody_waits() end
if level then level.settle(a) end
local standing = level and not a.only_narrow and level.standing(a) or {}
if head.away > 0 and departs and a.stop ~= '' then away.note_held(a) end

for _, scope in ipairs(ARGV[5] < '2' and { wide, narrow } or {}) do
  for i = 1, #scope do
    local l = scope[i]
    if l.kind.left and (not l.kind.is_list or touches or ARGV[5] == '0+' or l == a.by) then
      local units, till = l.kind.left(l, now)
      if units then left[2 * l.index + 1], left[2 * l.index + 2] = math.ceil(till), math.floor(units) end
    end
  end
end
write_changed(wide, now)
if narrow then write_changed(narrow, now) end
local permits = {}
for i = 1, a.semaphores and #a.semaphores or 0 do
  local l = a.semaphores[i]
  local granted, sharers, look =
    l.kind.take(l, a.granted, a.stop == 'permit' and l == a.by and a.n - a.granted or 0)
  permits[4 * i - 3], permits[4 * i - 2], permits[4 * i - 1], permits[4 * i] = granted, l.lost, sharers, look
end
if level then
  if not a.only_narrow then head.line = line.text_of(a.line) end
  if has_line and (narrow_text or a.narrow_line[1]) then line.write_narrow(a.narrow_line, KEYS[5], now) end
end
head_write(head)
for i = 1, a.semaphores and #a.semaphores or 0 do a.semaphores[i].kind.tell_all(a.semaphores[i]) end
if away then away.tell_all() end
return { head.gen, 'ok', now, touches and alive or -seen, a.stop, a.letter, a.by and a.by.index or -1, a.again,
         a.not_before, permits, a.departures, standing, left, others_limits, there }
