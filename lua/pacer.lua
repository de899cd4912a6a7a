-- SPDX-License-Identifier: Apache-2.0
-- pacer { qps, maxBurst, burstAllowanceFactor }: a leaky bucket used as a queue. State "1p T D W": T is when the last
-- left, D how many units of it are paced, W what the burst's bucket holds. The next is free when the rate, as it is
-- now, has brought D units; the bucket leaks only while the pacer is idle from then on.
local function pacer()
  local function set(l, last, debt, level)
    l.last, l.debt, l.level = last, debt, level
    l.free = last + debt / l.rate
  end

  local function read_state(l, text, now, qps, max_burst, factor)
    l.rate, l.max_burst, l.leak = qps / 1000000, max_burst, qps / 1000000 * factor
    if not text then return set(l, 0, 0, 0) end
    local last, debt, level = string.match(text, '^1p (%S+) (%S+) (%S+)$')
    set(l, number(last, l.key), number(debt, l.key), math.min(number(level, l.key), max_burst))
    if l.free > kLongest then corrupt(l.key) end
  end

  local function front(l) return l.free end

  local function level_at(l, t)
    return l.level == 0 and 0 or math.max(0, l.level - math.max(0, t - l.free) * l.leak)
  end

  local function commit(l, t, w)
    local filled = level_at(l, t) + w
    local level = math.min(l.max_burst, filled)
    set(l, t, filled - level, level)
  end

  local function ahead(l, now, units)
    return math.max(now, l.free) + math.max(0, level_at(l, now) + units - l.max_burst) / l.rate
  end

  local function write(l, now)
    local text = string.format('1p %.4f %.15g %.15g', l.last, l.debt, l.level)
    store(l.key, text, l.free - now + l.level / l.leak)
  end

  local function passes(l) return l.rate end

  local function room(l, now, till)
    local from = math.max(now, l.free)
    return from > till and 0 or l.max_burst - level_at(l, now) + (till - from) * l.rate + 1
  end

  -- Only the newest; the one before it is taken to have been as heavy.
  local function undo(l, at, w)
    local start = l.free - w / l.rate
    if whole(start) == at then set(l, start - w / l.rate, w, l.level) end
  end

  -- What leaked in one process, while it was idle, did not where others were not: so the burst is earned anew.
  local function merge(l, other)
    local later = other.free > l.free and other or l
    set(l, later.last, later.debt, l.max_burst)
  end

  return { read = read_state, front = front, commit = commit, ahead = ahead, write = write, passes = passes,
           room = room, undo = undo, merge = merge }
end
