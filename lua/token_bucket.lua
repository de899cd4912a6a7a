-- SPDX-License-Identifier: Apache-2.0
-- tokenBucket { capacity, refillAmount, refillFrequency }: starts full; refills keep the phase of the first departure.
-- State "1b s used": s is the moment of the last refill that was counted, `used` what was missing then. A changed capacity
-- keeps what was used.
local function token_bucket()
  local function configure(l, capacity, amount, period) l.capacity, l.amount, l.period = capacity, amount, period end

  local function parse(l, text)
    if not text then l.refilled, l.used = nil, 0 return end
    local refilled, used = match(text, '^1b (%-?[%d.]+) (%d+)$')
    l.refilled, l.used = number(refilled, l.key), number(used, l.key)
  end

  local function front(l, w)
    local missing = w - (l.capacity - l.used)
    if not l.refilled then return -huge end
    return missing <= 0 and l.refilled or l.refilled + ceil(missing / l.amount) * l.period
  end

  local function refill(l, t)
    local refills = floor((t - l.refilled + kNoise) / l.period)
    if refills <= 0 then return end
    l.refilled, l.used = l.refilled + refills * l.period, max(0, l.used - refills * l.amount)
  end

  local function commit(l, t, w)
    if not l.refilled then l.refilled = t end
    refill(l, t)
    l.used = l.used + w
  end

  local function ahead(l, now, units)
    local refilled, used = l.refilled or now, l.used
    local refills = max(0, floor((now - refilled + kNoise) / l.period))
    refilled, used = refilled + refills * l.period, max(0, used - refills * l.amount)
    local missing = max(0, units + 1 - (l.capacity - used))
    return max(now, refilled + ceil(missing / min(l.amount, l.capacity)) * l.period)
  end

  local function undo(l, at, w)
    if l.refilled and at >= l.refilled then l.used = max(0, l.used - w) end
  end

  -- Counted at a common time.
  local function merge(l, other)
    if not l.refilled then l.refilled = other.refilled end
    local time = max(l.refilled, other.refilled)
    refill(l, time)
    refill(other, time)
    l.used = l.used + other.used
  end

  local function write(l, now)
    if not l.refilled then return end
    store(l.key, format('1b %.4f %d', l.refilled, l.used), l.refilled + ceil(l.used / l.amount) * l.period - now)
  end

  local function passes(l) return l.capacity + floor(kHorizon / l.period) * l.amount end

  return { configure = configure, parse = parse, front = front, commit = commit, ahead = ahead, undo = undo,
           merge = merge, write = write, passes = passes }
end
