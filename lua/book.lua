-- SPDX-License-Identifier: Apache-2.0
-- Books departures for one lane: times within the horizon, or a turn for later. All limits commit, or none does.
-- KEYS: head, alive, hold; with a group its hold and its turns; then one for each limit, in the order of the configuration.
-- ARGV: 1 me · 2 the generation that I know, '' none · 3 a fresh generation's name · 4 processes alive, as far as I know ·
--   5 touch 0|1 · 6 group's hash, '' none · 7 n · 8 their weight · 9 departures that this lane has ahead already · from 10 on
--   six for each limit: kind, scope u|g, mode d|r, and
--   pacer qps maxBurst factor · window reservoir interval spread · slidingWindow max interval 0 ·
--   tokenBucket capacity refillAmount refillFrequency · counter max period 0 ·
--   semaphore capacity lease "returned:claimed:spare:others" (see semaphore.lua)
-- Answer: 1 generation · 2 ok|stale|closed · 3 now · 4 alive · 5 stop: ''|turn|permit|refused · 6 scope u|g · 7 the limit that
--   stops, from 0; -1 none, -2 hold · 8 ask again at, 0 none · 9 not before, 0 none · 10 of each semaphore the permits
--   granted in total, and how many of the claimed ones are lost ·
--   11 departures: at, limit, at, limit, …
local kGroupSlack = 5000   -- a group's limits never commit the upstream's further than this beyond their own frontier
local kAskEarlier = { u = kHorizon / 2, g = kGroupSlack - 1000 }

local me, gen, alive, grouped = ARGV[1], ARGV[2], tonumber(ARGV[4]), ARGV[6] ~= ''
local n, w, booked = tonumber(ARGV[7]), tonumber(ARGV[8]), tonumber(ARGV[9])

local head = head_read(KEYS[1], ARGV[3], alive)
local now = head.now
local function nothing(why, again) return { head.gen, why, now, alive, '', 'u', -1, again, 0, {}, {} } end

local stale = gen ~= '' and gen ~= head.gen
if stale or head_closed(head) then
  if head.new then head_write(head) end
  if stale then return nothing('stale', 0) end
  return nothing('closed', head.birth + kClosedFor)
end

-- The wide scope is the upstream's; where only the groups have limits, the group's.
local wide, narrow, semaphores, turns, group_turns = {}, grouped and {} or nil, {}, head.turns, nil
local first_key, built = grouped and 6 or 4, {}
for i = 0, #KEYS - first_key do
  local l = limit_read(i, first_key, 10, now, built)
  if l.kind.enter then l.kind.enter(l, head.birth) end
  local list = l.kind.take and semaphores or l.letter == 'g' and narrow or wide
  list[#list + 1] = l
end
if grouped then
  group_turns = group_turns_read(KEYS[5], now)
  if #wide == 0 and #narrow > 0 then wide, narrow, turns = narrow, nil, group_turns end
  add_hold(narrow or wide, KEYS[4], 'g')
end
add_hold(wide, KEYS[3], 'u')
local wide_windows = windows_of(wide, {})
local windows = narrow and windows_of(narrow, windows_of(wide, {})) or wide_windows

if ARGV[5] == '1' then alive = touch(KEYS[2], me, now) end
alive = max(1, alive)

-- What a lane may have ahead: what the wide limits pass within the horizon, divided by the processes.
local share, share_by = huge, nil
for i = 1, #wide do
  local l = wide[i]
  local passes = l.kind.passes and l.kind.passes(l) or huge
  if passes < share then share, share_by = passes, l end
end
share = max(1, floor(share / alive / w))

local departures, granted, base = {}, 0, now
local stop, letter, by, again, not_before = '', 'u', nil, 0, 0

local function stop_at(why, where, limit, t)
  stop, letter, by, not_before = why, where, limit, whole(t)
end

local function no_permit()
  for i = 1, #semaphores do
    local l = semaphores[i]
    if l.kind.free(l) <= granted then
      stop_at(l.refuse and 'refused' or 'permit', l.letter, l, 0)
      return true
    end
  end
end

-- Who leaves with the one before waited for what that one did.
local function grant(t, limit)
  if t == base and limit == -1 and granted > 0 then limit = departures[2 * granted] end
  granted, base = granted + 1, t
  departures[2 * granted - 1], departures[2 * granted] = whole(t), limit
end

-- Turns that came within the horizon become bookings, in order, whoever asks. So nobody jumps ahead.
local function convert()
  for i = 1, #turns do
    local turn = turns[i]
    while #turn < turn.n do
      local t, limit = off_edges(wide_windows, earliest(wide, now, turn.w))
      if whole(t) > now + kHorizon then return end
      commit(wide, t, turn.w)
      turn[#turn + 1] = { at = whole(t), limit = limit and limit.index or -1 }
    end
  end
end

-- When the group's limits allow it too, and who is to blame; beyond the slack that stops the lane.
local function group_allows(t, limit)
  local others = units_before(group_turns, me)
  local g, blamed = earliest(narrow, t, w, limit)
  if others > 0 or g == huge then g, blamed = ahead_of(narrow, t, others, w, limit) end
  if g > t + kGroupSlack + kNoise then stop_at('turn', 'g', blamed, g) end
  return g, blamed
end

-- Takes the bookings that my turn became. Those for a lesser weight, and those long past, are lost.
local function collect()
  local turn = turn_of(turns, me)
  if not turn or #turn == 0 then return end
  while turn[1] and (turn.w < w or turn[1].at < now - kHorizon) do table.remove(turn, 1) end
  while turn[1] and granted < n and not no_permit() do
    local t, limit = max(base, turn[1].at), turn[1].limit
    if narrow then
      local g, blamed = off_edges(windows, group_allows(t))
      if stop ~= '' then break end
      if blamed then t, limit = g, blamed.index end
      commit(narrow, t, w)
    end
    grant(t, limit)
    table.remove(turn, 1)
  end
  turn.n = granted > 0 and #turn or turn.n
  if turn.n == 0 or turn.w < w then drop_turn(turns, me) end
end

-- The next departure and the limit that is to blame; or a stop, because it is too far, or another's.
local function next_departure()
  local others = units_before(turns, me)
  local t, limit = earliest(wide, base, w)
  local far = others > 0 or t == huge
  if far then t, limit = ahead_of(wide, base, others, w) end
  if narrow then
    t, limit = group_allows(t, limit)
    if stop ~= '' then return end
  end
  t, limit = off_edges(windows, t, limit)
  if far then t = max(t, now + kHorizon) end
  if far or whole(t) > now + kHorizon then stop_at('turn', limit and limit.letter or 'u', limit, t) end
  return t, limit
end

-- A limit in refuse mode that is later than now, and than all those that only delay.
local function refused()
  local t, limit, delayed = now, nil, now
  for _, scope in ipairs({ wide, narrow }) do
    for i = 1, #scope do
      local l = scope[i]
      local front = l.kind.front(l, w)
      if l.refuse and front > t then t, limit = front, l end
      if not l.refuse then delayed = max(delayed, front) end
    end
  end
  if not limit or t <= delayed then return false end
  stop_at('refused', limit.letter, limit, t < huge and t or limit.kind.ahead(limit, now, 0))
  again = not_before
  return true
end

local may_refuse = false
for i = 0, #KEYS - first_key do may_refuse = may_refuse or ARGV[12 + i * kArguments] == 'r' end

convert()
collect()
while stop == '' and granted < min(n, share - booked) do
  if may_refuse and refused() then break end
  local t, limit = next_departure()
  if stop ~= '' or no_permit() then break end
  commit(wide, t, w)
  if narrow then commit(narrow, t, w) end
  grant(t, limit and limit.index or -1)
end
if stop == '' and granted < n then stop_at('turn', share_by and share_by.letter or 'u', share_by, 0) end

-- Whoever was granted a departure needs no turn; the others get one.
local waits_in_group = stop == 'turn' and narrow and letter == 'g'
if granted > 0 then
  if narrow then drop_turn(group_turns, me) end
  local turn = turn_of(turns, me)
  if turn and #turn == 0 then drop_turn(turns, me) end
elseif stop == 'turn' and not_before > 0 then
  take_turn(waits_in_group and group_turns or turns, me, not_before, min(n, share), w)
  local reset = by and by.kind.front(by, w) == huge   -- to ask earlier than that is in vain
  again = reset and not_before or not_before - kAskEarlier[waits_in_group and 'g' or 'u']
end

write_changed(wide, now)
if narrow then write_changed(narrow, now) end
local permits = {}
for i = 1, #semaphores do
  local l = semaphores[i]
  permits[2 * i - 1] = l.kind.take(l, granted, stop == 'permit' and l == by and n - granted or 0)
  permits[2 * i] = l.lost
end
if grouped then group_turns_write(group_turns, now) end
head_write(head)
return { head.gen, 'ok', now, alive, stop, letter, by and by.index or -1, again, not_before, permits, departures }
