-- SPDX-License-Identifier: Apache-2.0
-- Grants one departure after another for the ask `a` of a lane, until it has what it asked for or something stops it.
-- Of its limits `wide` are the upstream's, `narrow` those of its group and its route, if both have any; only wide ones
-- are shared out by the level.
local kNarrowReach = 5000   -- narrow limits never commit the upstream's further than this beyond their own frontier

local function add_window(a, l)
  a.windows, a.wide_windows = a.windows or {}, a.wide_windows or {}
  table.insert(a.windows, l)
  if l.letter == 'u' then table.insert(a.wide_windows, l) end
end

local function stop_at(a, why, letter, limit, t)
  a.stop, a.letter, a.by, a.not_before = why, letter, limit, whole(t)
end

-- Permits are checked last, when the time is known.
local function no_permit(a)
  for i = 1, a.semaphores and #a.semaphores or 0 do
    local l = a.semaphores[i]
    if l.kind.free(l) <= a.granted then
      stop_at(a, l.refuses and 'refused' or 'permit', l.letter, l, 0)
      return true
    end
  end
end

-- A departure that leaves together with the one before waited for the same limit.
local function grant(a, t, limit)
  local departures, last = a.departures, 2 * a.granted
  if t == a.base and limit == -1 and last > 0 then limit = departures[last] end
  departures[last + 1], departures[last + 2] = whole(t), limit
  a.granted, a.base = a.granted + 1, t
end

-- When the group's limits allow it too, and the limit to blame; beyond the slack that stops the lane. A departure that
-- waits for a reset is never expected within the horizon.
local function narrow_allows(a, t, limit)
  local others = a.narrow_line and a.line_part.units_before(a.narrow_line, a.me, a.now) or 0
  local g, blamed = earliest(a.narrow, t, a.w, limit)
  local unreset = g == kNever
  if others > 0 or unreset then g, blamed = ahead_of(a.narrow, t, others, a.w, limit) end
  if unreset then g = math.max(g, a.now + kHorizon) end
  if unreset or g > t + kNarrowReach + kNoise then stop_at(a, 'turn', 'n', blamed, g) end
  return g, blamed
end

-- The next departure and the limit to blame; or a stop, because it is too far off, or others of the group go first.
local function next_departure(a)
  local t, limit = earliest(a.wide, a.base, a.w)
  local unreset = t == kNever
  if unreset then t, limit = ahead_of(a.wide, a.base, 0, a.w) end
  if a.narrow then
    t, limit = narrow_allows(a, t, limit)
    if a.stop ~= '' then return end
  end
  if a.windows then t, limit = off_edges(a.windows, t, limit) end
  if unreset or whole(t) > a.now + kHorizon then
    stop_at(a, 'turn', a.only_narrow and limit and limit.letter or 'u', limit, t)
  end
  return t, limit
end

-- Whether a limit in refuse mode is free later than now, and later than all limits that only delay.
local function refused(a)
  local t, limit, delayed = a.now, nil, a.now
  for _, scope in ipairs({ a.wide, a.narrow }) do
    for i = 1, #scope do
      local l = scope[i]
      local front = l.kind.front(l, needed(l, a.w))
      if not l.refuses then
        delayed = math.max(delayed, front)
      elseif front > t or limit and front == t and l.rank < limit.rank then
        t, limit = front, l
      end
    end
  end
  if not limit or t <= delayed then return false end
  if t == kNever then t = limit.kind.ahead(limit, a.now, needed(limit, a.w) - 1) end
  stop_at(a, 'refused', limit.letter, limit, math.min(t, limit.kept_until or t))
  a.again = a.not_before
  return true
end
