-- SPDX-License-Identifier: Apache-2.0
-- adaptive { min, max }: a pacer without a burst whose rate is part of its state, see flow/adaptive.h. State "1r F L X R
-- W K A": F is the next free moment, L when the last departure left, X when the rate last fell, or 0; R is the rate in
-- units a second, W the plateau of CUBIC's curve (0 while nothing was refused), K how many seconds after a decrease the
-- curve reaches it, A for how many seconds of the time since then departures waited.
local function adaptive()
  local kLeft, kPlateau, kCurve, kMostMore, kDoubling = 0.7, 0.93, 0.4, 1.5, 0.69314718055994529
  local kSettles, kRemembered = 50000, 600000000

  local function bounded(l, rate) return math.min(l.max_rate, math.max(l.min_rate, rate)) end

  -- `part` is what is not kept back for processes that are away; it is not stored.
  local function read_state(l, text, now, min, max)
    l.min_rate, l.max_rate, l.part, l.cut, l.rate, l.peak, l.k, l.grown = min, max, 1, 0, 0, 0, 0, 0
    l.free = -kNever
    if not text then return end
    local free, last, cut, rate, peak, k, grown =
      string.match(text, '^1r (%S+) (%S+) (%S+) (%S+) (%S+) (%S+) (%S+)$')
    l.free, l.last, l.cut = number(free, l.key), number(last, l.key), number(cut, l.key)
    l.rate, l.peak = number(rate, l.key), number(peak, l.key)
    l.k, l.grown = number(k, l.key), number(grown, l.key)
  end

  local function front(l) return l.free end

  local function passes(l) return bounded(l, l.rate) * l.part / 1000000 end

  local function grow(l, seconds)
    if l.rate >= l.max_rate then return end
    local to = l.rate + kDoubling * l.rate * seconds
    if l.peak > 0 then
      l.grown = l.grown + seconds
      local off = l.grown - l.k
      to = math.min(kMostMore * l.rate, l.peak + kCurve * off * off * off)
    end
    l.rate = math.min(l.max_rate, math.max(l.rate, to))
  end

  local function commit(l, t, w)
    if t >= l.free + kRemembered then l.rate, l.peak, l.k, l.grown, l.cut = 0, 0, 0, 0, 0 end
    l.rate = bounded(l, l.rate)
    if l.last and t > l.last and t <= l.free + kEdge then grow(l, (t - l.last) / 1000000) end
    l.last = math.max(l.last or t, t)
    l.free = l.last + w * 1000000.0 / (l.rate * l.part)
  end

  local function ahead(l, now, units) return math.max(now, l.free) + units / passes(l) end

  local function write(l, now)
    if not l.last then return end
    local text = string.format('1r %.4f %.4f %.4f %.17g %.17g %.17g %.17g', l.free, l.last, l.cut, l.rate, l.peak, l.k,
                               l.grown)
    store_state(l, text, l.free - now + kRemembered)
  end

  -- The rate in millionths of a unit a second, as answers have whole numbers alone.
  local function stands(l)
    if l.last then return l.free, bounded(l, l.rate) * 1000000 end
  end

  local function slow_down(l, part) l.part = part end

  -- Not units that are left, but the rate, in millionths of a unit a second: by this a process goes on alone.
  local function left(l, now) return bounded(l, l.rate) * 1000000, math.max(l.free, now) end

  local function room(l, now, till)
    local from = math.max(now, l.free)
    return from > till and 0 or (till - from) * passes(l) + 1
  end

  local function undo(l, at)
    if l.last and whole(l.last) == at then l.free = l.last end
  end

  local function refused(l, departed, now)
    if not l.last or departed < l.cut + 1 or now >= l.free + kRemembered then return end
    local rate = bounded(l, l.rate)
    l.rate = math.max(l.min_rate, kLeft * rate)
    l.peak = math.max(l.rate, kPlateau * rate)
    l.k, l.grown, l.cut = ((l.peak - l.rate) / kCurve) ^ (1.0 / 3), 0, math.max(now, l.last)
    l.free = math.max(now, l.free) + kSettles
  end

  -- The higher rate is what more was learned of. The later moment is free.
  local function merge(l, other)
    if not l.last or other.rate > l.rate then
      l.rate, l.peak, l.k, l.grown, l.cut = other.rate, other.peak, other.k, other.grown, other.cut
    end
    l.free, l.last = math.max(l.free, other.free), math.max(l.last or other.last, other.last)
  end

  return { read = read_state, front = front, commit = commit, ahead = ahead, write = write, passes = passes,
           room = room, stands = stands, left = left, slow_down = slow_down, undo = undo, merge = merge,
           refused = refused }
end
