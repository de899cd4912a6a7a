-- SPDX-License-Identifier: Apache-2.0
-- counter { max, period }: at most `max` units between two resets. State "1c R count last number leader until": R is
-- the last reset, `last` the latest departure booked, `number` counts the resets; the leader may reset until its lease
-- ends. Of costs, what is more than `max` counts in the next period too. Only reset.lua resets; departures after a reset
-- stay 1 ms off that edge. The first period begins 1 ms before its first departure.
local function counter()
  -- Resets may have been left out while nothing was counted; they are made up for here.
  local function read_state(l, text, now, most, period)
    l.max, l.period, l.count, l.last, l.number, l.leader, l.lease_end = most, period, 0, 0, 0, '-', 0
    if not text then return end
    local reset, count, last, resets, leader, lease_end =
      string.match(text, '^1c (%S+) (%d+) (%S+) (%d+) (%S+) (%d+)$')
    l.reset, l.count, l.last = number(reset, l.key), number(count, l.key), number(last, l.key)
    l.number, l.leader, l.lease_end = number(resets, l.key), leader, number(lease_end, l.key)
    if l.count == 0 and now > l.reset then
      l.reset = l.reset + math.floor((now - l.reset) / period) * period
    end
  end

  local function front(l, w)
    if l.count + w > l.max then return kNever end
    return l.reset and l.reset + kEdge or -kNever
  end

  local function commit(l, t, w)
    l.reset, l.count, l.last = l.reset or t - kEdge, l.count + w, math.max(l.last, t)
  end

  local function ahead(l, now, units)
    local resets = math.floor(((l.by_cost and l.count or math.min(l.count, l.max)) + units) / l.max)
    if not l.reset then return now + resets * l.period end
    if resets == 0 then return math.max(now, l.reset + kEdge) end
    return math.max(now, l.reset + l.period, l.last) + (resets - 1) * l.period + kEdge
  end

  local function write(l, now)
    if not l.reset then return end
    local text = string.format('1c %.4f %d %.4f %d %s %d', l.reset, l.count, l.last, l.number, l.leader, l.lease_end)
    store_state(l, text, math.max(l.reset, l.last, now) + 2 * l.period - now)
  end

  local function stands(l) return l.reset, l.count end

  local function passes(l) return l.max / l.period end

  local function room(l) return l.max - l.count end

  local function left(l)
    if l.reset then return l.max - l.count, math.max(l.reset + l.period, l.last) end
  end

  local function undo(l, at, w)
    if l.reset and at > l.reset then l.count = math.max(0, l.count - w) end
  end

  local function merge(l, other)
    l.reset, l.last = math.max(l.reset or -kNever, other.reset), math.max(l.last, other.last)
    l.count, l.number = l.count + other.count, math.max(l.number, other.number)
  end

  return { read = read_state, front = front, commit = commit, ahead = ahead, write = write, passes = passes,
           room = room, stands = stands, left = left, undo = undo, merge = merge }
end
