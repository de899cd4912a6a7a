-- SPDX-License-Identifier: Apache-2.0
-- tokenBucket { capacity, refillAmount, refillFrequency }: starts full; refills keep the phase of the first departure.
-- State "1b s used": s is the moment of the last refill that was counted, `used` what was missing then. A changed
-- capacity keeps `used`. Once a departure was corrected it is "2b s used from least from least …": from the moment
-- `from` on at least `least` tokens were in use all the time; both ascend.
local function token_bucket()
  local kMostLows = 16

  local function read_state(l, text, now, capacity, amount, period)
    l.capacity, l.amount, l.period, l.used = capacity, amount, period, 0
    if not text then return end
    local format, refilled, used, rest = string.match(text, '^([12])b (%S+) (%d+)(.*)$')
    l.refilled, l.used = number(refilled, l.key), number(used, l.key)
    if format == '1' then return rest == '' or corrupt(l.key) end
    l.lows = {}
    for from, least in string.gmatch(rest, ' (%S+) (%d+)') do
      l.lows[#l.lows + 1] = { from = number(from, l.key), least = number(least, l.key) }
    end
    if #l.lows == 0 then corrupt(l.key) end
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

  -- So few are in use now.
  local function lower(l)
    local lows = l.lows
    for i = 1, #lows do
      if lows[i].least >= l.used then
        lows[i].least = l.used
        for k = #lows, i + 1, -1 do lows[k] = nil end
        return
      end
    end
  end

  -- All that is in use now was not before. Of the oldest moments less is known, which does no harm.
  local function raise(l, t)
    local lows = l.lows
    local last = lows[#lows]
    if l.used <= last.least then return end
    lows[#lows + 1] = { from = math.max(t, last.from), least = l.used }
    if #lows > kMostLows then table.remove(lows, 2) end
  end

  local function commit(l, t, w)
    if not l.refilled then l.refilled = t end
    refill(l, t)
    if l.lows then lower(l) end
    l.used = l.used + w
    if l.lows then raise(l, t) end
  end

  -- Had the departure taken fewer tokens, some refills since might have found the bucket full: no more comes back than
  -- was in use all the time since then. Of departures before all that is remembered, what refills since cannot have paid
  -- was in use.
  local function take_back(l, departure, now, tokens)
    local lows, first = l.lows, 0
    while first < #lows and lows[first + 1].from <= departure do first = first + 1 end
    if first == 0 then
      tokens, first = tokens - math.ceil((now - departure) / l.period) * l.amount, 1
    end
    tokens = math.max(0, math.min(tokens, lows[first].least))
    l.used = l.used - tokens
    for i = first, #lows do lows[i].least = lows[i].least - tokens end
    while first > 1 and lows[first - 1].least >= lows[first].least do
      lows[first - 1].least = lows[first].least
      table.remove(lows, first)
      first = first - 1
    end
  end

  local function settle(l, departure, now, taken, cost)
    if not l.refilled then l.refilled = now end
    refill(l, now)
    if l.lows then lower(l) else l.lows = { { from = now, least = l.used } } end
    if cost > taken then l.used = l.used + cost - taken else take_back(l, departure, now, taken - cost) end
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
    local text = string.format('%s %.4f %d', l.lows and '2b' or '1b', l.refilled, l.used)
    for i = 1, l.lows and #l.lows or 0 do
      text = text .. string.format(' %.4f %d', l.lows[i].from, l.lows[i].least)
    end
    store_state(l, text, full_at - now)
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
    l.lows = nil
    l.refilled = l.refilled or other.refilled
    local time = math.max(l.refilled, other.refilled)
    refill(l, time)
    refill(other, time)
    l.used = math.min(l.used + other.used, math.max(l.used, other.used, l.capacity))
    if not lost or alone then return end
    l.refilled, l.used = math.max(time, math.min(lost + kHorizon, time + l.period)), math.max(l.used, l.capacity)
  end

  return { read = read_state, front = front, commit = commit, ahead = ahead, write = write, passes = passes,
           room = room, stands = stands, left = left, slow_down = slow_down, undo = undo, settle = settle,
           merge = merge }
end
