-- SPDX-License-Identifier: Apache-2.0
-- window { reservoir, interval, spread }: at most `reservoir` in each window of `interval`, aligned to 1970. State "1w
-- start count interval". Departures stay 1 ms off the windows' edges, or a tenth of the interval if that is less: the
-- time on which all limits agreed is moved.
local function window()
  local function start_of(l, t) return math.floor((t + l.phase) / l.interval) * l.interval - l.phase end

  -- Windows of a changed interval start from the end of the old window, but not from beyond the horizon.
  local function read_state(l, text, now, reservoir, interval, spread)
    l.max, l.interval, l.spread = reservoir, interval, spread == 1
    l.phase = math.fmod(1735689600000000, interval)
    l.guard = math.min(kEdge, math.floor(interval / 10))
    l.start, l.count = start_of(l, now), 0
    if not text then return end
    local start, count, old = string.match(text, '^1w (%-?%d+) (%d+) (%d+)$')
    start, count, old = number(start, l.key), number(count, l.key), number(old, l.key)
    if old ~= interval then
      start, l.changed = start_of(l, math.min(start + old - 1, now + kHorizon)), true
    end
    if start >= l.start then l.start, l.count = start, count end
  end

  local function front(l, w)
    if l.count + w > l.max then return l.start + l.interval end
    return l.spread and l.start + l.count * l.interval / l.max or l.start
  end

  -- The first moment from t on that is not too near an edge.
  local function off_edge(l, t)
    local start = start_of(l, t)
    if t - start < l.guard then return start + l.guard end
    return t - start > l.interval - l.guard and start + l.interval + l.guard or t
  end

  local function commit(l, t, w)
    local start = start_of(l, t)
    if start > l.start then l.start, l.count = start, 0 end
    l.count = l.count + w
  end

  local function ahead(l, now, units)
    local gone = math.min(l.count, l.max) + units
    local start = l.start + math.floor(gone / l.max) * l.interval
    return math.max(now, start + (l.spread and gone % l.max * l.interval / l.max or 0))
  end

  local function write(l, now)
    store_state(l, string.format('1w %d %d %d', l.start, l.count, l.interval), l.start + l.interval - now)
  end

  local function stands(l) return l.start, l.count end

  local function passes(l) return l.max / l.interval end

  -- What is left of the last window booked, and the windows that begin after it.
  local function room(l, now, till)
    if l.spread then
      local from = math.max(front(l, 1), now)
      return from > till and 0 or (till - from) * l.max / l.interval + 1
    end
    local later = (start_of(l, till) - l.start) / l.interval
    return later < 0 and 0 or l.max - l.count + later * l.max
  end

  local function left(l) return l.max - l.count, l.start + l.interval end

  local function undo(l, at, w)
    if start_of(l, at) == l.start then l.count = math.max(0, l.count - w) end
  end

  -- A departure that moved over an edge counts in both windows.
  local function moved(l, moves)
    for _, move in ipairs(moves) do
      local start = start_of(l, move.to)
      if start > start_of(l, move.from) and start >= l.start then commit(l, move.to, move.w) end
    end
  end

  local function merge(l, other)
    if other.start > l.start then l.start, l.count = other.start, 0 end
    if other.start == l.start then l.count = l.count + other.count end
  end

  return { read = read_state, front = front, off_edge = off_edge, commit = commit, ahead = ahead, write = write,
           passes = passes, room = room, stands = stands, left = left, undo = undo, moved = moved, merge = merge }
end
