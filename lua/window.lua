-- SPDX-License-Identifier: Apache-2.0
-- window { reservoir, interval, spread }: at most `reservoir` in each window of `interval`, aligned to 1970. State "1w
-- start count interval"; where strangers have taken some of the window it is "2w start count interval foreign told",
-- see learn() of flow/limit.h; where `debt` of the count did not fit into the window that began at `from`, "3w start count
-- interval from debt" or "4w start count interval foreign told from debt". Departures stay 1 ms off the windows' edges, or
-- a tenth of the interval if that is less: the time on which all limits agreed is moved.
local function window()
  local function start_of(l, t) return math.floor((t + l.phase) / l.interval) * l.interval - l.phase end

  -- Windows of a changed interval start from the end of the old window, but not from beyond the horizon.
  local function read_state(l, text, now, reservoir, interval, spread)
    l.max, l.interval, l.spread = reservoir, interval, spread == 1
    l.phase = math.fmod(1735689600000000, interval)
    l.guard = math.min(kEdge, math.floor(interval / 10))
    l.start, l.count, l.foreign, l.told, l.debt = start_of(l, now), 0, 0, -kNever, 0
    if not text then return end
    local format, start, count, old, learned = string.match(text, '^([1-4])w (%-?%d+) (%d+) (%d+)(.*)$')
    start, count, old = number(start, l.key), number(count, l.key), number(old, l.key)
    if old ~= interval then
      start, l.changed = start_of(l, math.min(start + old - 1, now + kHorizon)), true
    end
    if start < l.start then return end
    l.start, l.count = start, count
    if learned == '' and format == '1' then return end
    if format > '2' then
      local rest, from, debt = string.match(learned, '^(.-) (%-?%d+) (%d+)$')
      from, debt = number(from, l.key), number(debt, l.key)
      if old == interval then l.from, l.debt = from, debt end
      if rest == '' and format == '3' then return end
      learned = rest
    end
    local foreign, told = string.match(learned, '^ (%d+) (%d+)$')
    foreign, told = number(foreign, l.key), number(told, l.key)
    if old == interval then l.foreign, l.told = foreign, told end
  end

  -- Units of the window that are taken: ours, and those of strangers as far as known.
  local function taken(l) return l.count + l.foreign end

  local function front(l, w)
    local gone = taken(l)
    if gone + w > l.max then return l.start + l.interval end
    return l.spread and l.start + gone * l.interval / l.max or l.start
  end

  -- The first moment from t on that is not too near an edge.
  local function off_edge(l, t)
    local start = start_of(l, t)
    if t - start < l.guard then return start + l.guard end
    return t - start > l.interval - l.guard and start + l.interval + l.guard or t
  end

  local function commit(l, t, w)
    local start = start_of(l, t)
    if start > l.start then l.start, l.count, l.foreign, l.told, l.debt = start, 0, 0, -kNever, 0 end
    l.count = l.count + w
  end

  -- Units that do not fit into the window count in the next ones.
  local function carry_over(l, units)
    local filled = math.floor((units - 1) / l.max)
    l.from, l.debt = l.start, units - filled * l.max
    l.start, l.count, l.foreign, l.told = l.start + (filled + 1) * l.interval, l.debt, 0, -kNever
  end

  local function commit_cost(l, t, cost)
    commit(l, t, cost)
    local over = taken(l) - l.max
    if over > 0 then carry_over(l, over) end
  end

  local function ahead(l, now, units)
    local gone = math.min(taken(l), l.max) + units
    local start = l.start + math.floor(gone / l.max) * l.interval
    return math.max(now, start + (l.spread and gone % l.max * l.interval / l.max or 0))
  end

  local function write(l, now)
    local text = string.format('1w %d %d %d', l.start, l.count, l.interval)
    if l.told > -kNever then
      text = string.format('2w %d %d %d %d %d', l.start, l.count, l.interval, l.foreign, l.told)
    end
    if l.debt > 0 then
      text = string.format('%s%s %d %d', l.told > -kNever and '4' or '3', string.sub(text, 2), l.from, l.debt)
    end
    store_state(l, text, l.start + l.interval - now)
  end

  local function stands(l) return l.start, taken(l) end

  local function passes(l) return l.max / l.interval end

  -- What is left of the last window booked, and the windows that begin after it.
  local function room(l, now, till)
    if l.spread then
      local from = math.max(front(l, 1), now)
      return from > till and 0 or (till - from) * l.max / l.interval + 1
    end
    local later = (start_of(l, till) - l.start) / l.interval
    return later < 0 and 0 or math.max(0, l.max - taken(l)) + later * l.max
  end

  local function left(l) return math.max(0, l.max - taken(l)), l.start + l.interval end

  local function undo(l, at, w)
    if start_of(l, at) == l.start then l.count = math.max(0, l.count - w) end
  end

  -- See Window::settle() in flow/.
  local function settle(l, departure, now, reserved, cost)
    if cost > reserved then return commit_cost(l, now, cost - reserved) end
    local less = reserved - cost
    if l.debt == 0 or start_of(l, departure) ~= l.from then return undo(l, departure, less) end
    if l.count > l.debt or l.told > -kNever then
      less = math.min(less, l.debt)
      l.count, l.debt = l.count - less, l.debt - less
      return
    end
    local filled = math.floor((l.start - l.from) / l.interval + 0.5) - 1
    local over = l.debt + filled * l.max - less
    l.start, l.count, l.debt = l.from, l.max + math.min(over, 0), 0
    if over > 0 then carry_over(l, over) end
  end

  -- A departure that moved over an edge counts in both windows.
  local function moved(l, moves)
    for _, move in ipairs(moves) do
      local start = start_of(l, move.to)
      if start > start_of(l, move.from) and start >= l.start then
        commit(l, move.to, l.by_cost and move.cost or move.w)
      end
    end
  end

  -- The upstream may write its reset in whole seconds. Of ours it has counted the answered request at least.
  local function learn(l, now, departed, counted, resets)
    local off = math.min(1050000, l.interval / 4)
    if l.start ~= start_of(l, now) or l.count == 0 or math.abs(resets - l.start - l.interval) > off then return end
    if departed < l.told - kLongestWay then return end
    local most = math.max(0, counted - 1)
    l.foreign = math.max(l.foreign, math.min(most, counted - l.count))
    if departed >= l.told then l.told, l.foreign = departed, math.min(l.foreign, most) end
  end

  local function merge(l, other)
    l.debt = 0
    if other.start > l.start then l.start, l.count, l.foreign, l.told = other.start, 0, 0, -kNever end
    if other.start == l.start then l.count = l.count + other.count end
  end

  return { read = read_state, front = front, off_edge = off_edge, commit = commit, ahead = ahead, write = write,
           passes = passes, room = room, stands = stands, left = left, undo = undo, moved = moved, merge = merge,
           learn = learn, commit_cost = commit_cost, settle = settle }
end
