-- SPDX-License-Identifier: Apache-2.0
-- window { reservoir, interval, spread }: at most `reservoir` in each window of `interval`, aligned to 1970.
-- State "1w start count interval". Departures stay 1 ms off the windows' edges, or a tenth of the interval: what all limits
-- agreed on is moved.
local function window()
  local function start_of(l, t) return floor((t + l.phase) / l.interval) * l.interval - l.phase end

  local function configure(l, reservoir, interval, spread)
    l.reservoir, l.interval, l.spread = reservoir, interval, spread == 1
    l.phase = math.fmod(1735689600000000, interval)
    l.guard = min(kEdge, floor(interval / 10))
  end

  -- A changed interval starts from where the old window ends, but not from beyond the horizon.
  local function parse(l, text, now)
    l.start, l.count = start_of(l, now), 0
    if not text then return end
    local start, count, interval = match(text, '^1w (%-?%d+) (%d+) (%d+)$')
    start, count, interval = number(start, l.key), number(count, l.key), number(interval, l.key)
    if interval ~= l.interval then
      start, l.changed = start_of(l, min(start + interval - 1, now + kHorizon)), true
    end
    if start >= l.start then l.start, l.count = start, count end
  end

  local function front(l, w)
    if l.count + w > l.reservoir then return l.start + l.interval end
    return l.spread and l.start + l.count * l.interval / l.reservoir or l.start
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
    local gone = l.count + units
    local start = l.start + floor(gone / l.reservoir) * l.interval
    return start + (l.spread and gone % l.reservoir * l.interval / l.reservoir or 0)
  end

  local function undo(l, at, w)
    if start_of(l, at) == l.start then l.count = max(0, l.count - w) end
  end

  local function merge(l, other)
    if other.start > l.start then l.start, l.count = other.start, 0 end
    if other.start == l.start then l.count = l.count + other.count end
  end

  local function write(l, now)
    store(l.key, format('1w %d %d %d', l.start, l.count, l.interval), l.start + l.interval - now)
  end

  local function passes(l) return l.reservoir end

  return { configure = configure, parse = parse, front = front, off_edge = off_edge, commit = commit, ahead = ahead,
           undo = undo, merge = merge, write = write, passes = passes }
end
