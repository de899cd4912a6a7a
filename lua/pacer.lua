-- SPDX-License-Identifier: Apache-2.0
-- pacer { qps, maxBurst, burstAllowanceFactor }: a leaky bucket used as a queue. State "1p N W": N is the next free moment,
-- W what the burst's bucket holds at N. It leaks only while the pacer is idle.
local function pacer()
  local function configure(l, qps, max_burst, factor)
    l.rate, l.max_burst, l.leak = qps / 1000000, max_burst, qps / 1000000 * factor
  end

  local function parse(l, text)
    local free, level = match(text or '1p 0 0', '^1p (%S+) (%S+)$')
    l.free = number(free, l.key)
    l.level = min(number(level, l.key), l.max_burst)
  end

  local function front(l) return l.free end

  local function level_at(l, t) return max(0, l.level - max(0, t - l.free) * l.leak) end

  local function commit(l, t, w)
    local filled = level_at(l, t) + w
    l.level = min(l.max_burst, filled)
    l.free = t + (filled - l.level) / l.rate
  end

  local function ahead(l, now, units)
    return max(now, l.free) + max(0, level_at(l, now) + units - l.max_burst) / l.rate
  end

  local function undo(l, at, w)
    local start = l.free - w / l.rate
    if l.level == 0 and whole(start) == at then l.free = start end
  end

  local function merge(l, other)
    l.free, l.level = max(l.free, other.free), min(l.max_burst, l.level + other.level)
  end

  local function write(l, now)
    store(l.key, format('1p %.4f %.9f', l.free, l.level), l.free - now + l.level / l.leak)
  end

  local function passes(l) return l.rate * kHorizon + l.max_burst + 1 end

  return { configure = configure, parse = parse, front = front, commit = commit, ahead = ahead, undo = undo,
           merge = merge, write = write, passes = passes }
end
