-- SPDX-License-Identifier: Apache-2.0
-- pacer { qps, maxBurst, burstAllowanceFactor }: a leaky bucket used as a queue. State "1p N W": N is the next free
-- moment, W what the burst's bucket holds at N. It leaks only while the pacer is idle.
local function pacer()
  local function read_state(l, text, now, qps, max_burst, factor)
    l.rate, l.max_burst, l.leak = qps / 1000000, max_burst, qps / 1000000 * factor
    if not text then l.free, l.level = 0, 0 return end
    local free, level = string.match(text, '^1p (%S+) (%S+)$')
    l.free, l.level = number(free, l.key), math.min(number(level, l.key), max_burst)
  end

  local function front(l) return l.free end

  local function level_at(l, t)
    return l.level == 0 and 0 or math.max(0, l.level - math.max(0, t - l.free) * l.leak)
  end

  local function commit(l, t, w)
    local filled = level_at(l, t) + w
    l.level = math.min(l.max_burst, filled)
    l.free = t + (filled - l.level) / l.rate
  end

  local function ahead(l, now, units)
    return math.max(now, l.free) + math.max(0, level_at(l, now) + units - l.max_burst) / l.rate
  end

  local function write(l, now)
    store(l.key, string.format('1p %.4f %.15g', l.free, l.level), l.free - now + l.level / l.leak)
  end

  local function passes(l) return l.rate * kHorizon * 0.9 + l.max_burst end

  local function undo(l, at, w)
    local start = l.free - w / l.rate
    if whole(start) == at then l.free = start end
  end

  -- What leaked in one process, while it was idle, did not where others were not: so the burst is earned anew.
  local function merge(l, other)
    l.free, l.level = math.max(l.free, other.free), l.max_burst
  end

  return { read = read_state, front = front, commit = commit, ahead = ahead, write = write, passes = passes,
           undo = undo, merge = merge }
end
