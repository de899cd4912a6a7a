-- SPDX-License-Identifier: Apache-2.0
-- pacer { qps, maxBurst, burstAllowanceFactor }: a leaky bucket used as a queue. State "2p T D W Q": T is when the last
-- departure left, D how many of its units are paced, W what the burst's bucket holds, Q the qps by which it left. The
-- next departure is free when the present rate has brought D units; the bucket leaks only while the pacer is idle from
-- then on. It may hold more than fits here: another process may have a larger bucket, and must not get its burst back
-- early.
local function pacer()
  local function set(l, last, debt, level, rate)
    l.last, l.debt, l.level, l.by = last, debt, level, rate
    l.free = last + debt / l.rate
  end

  local function read_state(l, text, now, qps, max_burst, factor)
    l.rate, l.max_burst, l.leak = qps / 1000000, max_burst, qps / 1000000 * factor
    if not text then return set(l, 0, 0, 0, l.rate) end
    local last, debt, level, by = string.match(text, '^2p (%S+) (%S+) (%S+) (%S+)$')
    set(l, number(last, l.key), number(debt, l.key), number(level, l.key), number(by, l.key) / 1000000)
    if l.free > kLongest then corrupt(l.key) end
  end

  local function front(l) return l.free end

  local function held_at(l, t)
    return l.level == 0 and 0 or math.max(0, l.level - math.max(0, t - l.free) * l.leak)
  end

  local function level_at(l, t) return math.min(l.max_burst, held_at(l, t)) end

  local function commit(l, t, w)
    local held = held_at(l, t)
    local filled = math.min(l.max_burst, held) + w
    local level = math.min(l.max_burst, filled)
    set(l, t, filled - level, math.max(level, held), l.rate)
  end

  local function ahead(l, now, units)
    return math.max(now, l.free) + math.max(0, level_at(l, now) + units - l.max_burst) / l.rate
  end

  local function write(l, now)
    local text = string.format('2p %.4f %.15g %.15g %.15g', l.last, l.debt, l.level, l.by * 1000000)
    store_state(l, text, l.free - now + l.level / l.leak)
  end

  local function passes(l) return l.rate end

  local function stands(l) return l.free, l.level end

  -- From `since` on the pacer runs at `part` of its rate. Until then it leaked at the full rate.
  local function slow_down(l, part, since)
    if since > l.free then set(l, since, 0, held_at(l, since), l.by) end
    l.rate, l.leak, l.max_burst = l.rate * part, l.leak * part, math.floor(l.max_burst * part)
    l.free = l.last + l.debt / l.rate
  end

  local function left(l, now) return l.max_burst - level_at(l, now), math.max(l.free, now) end

  local function room(l, now, till)
    local from = math.max(now, l.free)
    return from > till and 0 or l.max_burst - level_at(l, now) + (till - from) * l.rate + 1
  end

  -- For a process that comes when it was told to, while the last departure left at a higher rate: by its own rate each
  -- such departure would hold it back again. So it keeps its own rate among its own departures, and the higher one with
  -- all others.
  local function ease(l, told)
    if l.by > l.rate then l.free = math.min(l.free, math.max(l.last + l.debt / l.by, told)) end
  end

  -- Takes back the newest departure only; the one before it is taken to have been as heavy.
  local function undo(l, at, w)
    local start = l.free - w / l.rate
    if whole(start) == at then set(l, start - w / l.rate, w, l.level, l.by) end
  end

  -- Of the newest departure what was paced first goes, then what is in the bucket, which is as it would be without.
  local function settle(l, departure, now, taken, cost)
    if cost > taken then return commit(l, math.max(now, l.free), cost - taken) end
    if l.last == 0 or whole(l.last) ~= departure then return end
    local debt = l.debt + cost - taken
    set(l, l.last, math.max(0, debt), debt < 0 and math.max(0, l.level + debt) or l.level, l.by)
  end

  -- What leaked in one process while it was idle did not leak where others were not: so the burst is earned again.
  local function merge(l, other)
    local later = other.free > l.free and other or l
    set(l, later.last, later.debt, l.max_burst, later.by)
  end

  return { read = read_state, front = front, commit = commit, ahead = ahead, write = write, passes = passes,
           room = room, stands = stands, left = left, slow_down = slow_down, ease = ease, undo = undo, settle = settle,
           merge = merge }
end
