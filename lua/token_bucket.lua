-- SPDX-License-Identifier: Apache-2.0
-- tokenBucket { capacity, refillAmount, refillFrequency }: starts full; refills keep the phase of the first departure.
-- State "1b s used": s is the moment of the last refill that was counted, `used` what was missing then. A changed
-- capacity keeps `used`.
local function token_bucket()
  local function read_state(l, text, now, capacity, amount, period)
    l.capacity, l.amount, l.period, l.used = capacity, amount, period, 0
    if not text then return end
    local refilled, used = string.match(text, '^1b (%S+) (%d+)$')
    l.refilled, l.used = number(refilled, l.key), number(used, l.key)
  end

  local function front(l, w)
    if not l.refilled then return -kNever end
    local missing = w - (l.capacity - l.used)
    return missing <= 0 and l.refilled or l.refilled + math.ceil(missing / l.amount) * l.period
  end

  local function refill(l, t)
    local refills = math.floor((t - l.refilled + kNoise) / l.period)
    if refills <= 0 then return end
    l.refilled, l.used = l.refilled + refills * l.period, math.max(0, l.used - refills * l.amount)
  end

  local function commit(l, t, w)
    if not l.refilled then l.refilled = t end
    refill(l, t)
    l.used = l.used + w
  end

  local function ahead(l, now, units)
    local later = { refilled = l.refilled or now, used = l.used, amount = l.amount, period = l.period }
    refill(later, now)
    local missing = math.max(0, units + 1 - (l.capacity - later.used))
    return math.max(now, later.refilled + math.ceil(missing / math.min(l.amount, l.capacity)) * l.period)
  end

  local function write(l, now)
    if not l.refilled then return end
    local full_at = l.refilled + math.ceil(l.used / l.amount) * l.period
    store_state(l, string.format('1b %.4f %d', l.refilled, l.used), full_at - now)
  end

  local function stands(l) return l.refilled, l.used end

  -- From `since` on the bucket is refilled at `part` of its rate. Refills before that moment count in full.
  local function slow_down(l, part, since)
    if l.refilled then refill(l, since) end
    l.capacity, l.period = math.max(1, math.floor(l.capacity * part)), l.period / part
  end

  local function left(l)
    if l.refilled then return l.capacity - l.used, l.refilled end
  end

  local function passes(l) return l.amount / l.period end

  local function room(l, now, till)
    if not l.refilled then return l.capacity end
    local refills = math.max(0, math.floor((till - l.refilled + kNoise) / l.period))
    return l.capacity - math.max(0, l.used - refills * l.amount)
  end

  local function undo(l, at, w)
    if l.refilled and at >= l.refilled then l.used = math.max(0, l.used - w) end
  end

  -- Both are counted at a common time. Each process knows only its own departures, and credits all refills to them:
  -- several that hand in what was `lost` by now cannot tell how full the bucket was, nor when it was refilled. So it
  -- counts as empty, and as refilled at the latest possible moment.
  local function merge(l, other, lost)
    local alone = not l.refilled
    l.refilled = l.refilled or other.refilled
    local time = math.max(l.refilled, other.refilled)
    refill(l, time)
    refill(other, time)
    l.used = math.min(l.used + other.used, math.max(l.used, other.used, l.capacity))
    if not lost or alone then return end
    l.refilled, l.used = math.max(time, math.min(lost + kHorizon, time + l.period)), math.max(l.used, l.capacity)
  end

  return { read = read_state, front = front, commit = commit, ahead = ahead, write = write, passes = passes,
           room = room, stands = stands, left = left, slow_down = slow_down, undo = undo, merge = merge }
end
