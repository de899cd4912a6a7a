-- SPDX-License-Identifier: Apache-2.0
-- slidingWindow { max, interval }: at most `max` units in any half-open interval. State: a LIST of "2s number" (see
-- store.lua) and the last departures' times, whole and ascending, one for each unit; only what is needed is read. Where
-- strangers have taken some of the upstream's own window, see learn() of flow/limit.h, the first is "3s number units from
-- until told". The interval is kept 2 ms longer, because processes are late by different amounts.
local function sliding_window()
  local kLonger, kChunk = 2 * kEdge, 64

  local function element(l, place) return number(redis.call('LINDEX', l.key, place + 1), l.key) end

  -- `text` is what a process hands in: "1s t t …".
  local function read_state(l, text, now, most, interval)
    l.max, l.interval, l.fetched, l.new, l.chunk = most, interval + kLonger, {}, {}, kChunk
    if text then
      if not string.match(text, '^1s[%d %-]*$') then corrupt(l.key) end
      for time in string.gmatch(text, ' (%S+)') do l.new[#l.new + 1] = number(time, l.key) end
    end
    l.stored = 0
    local first = not text and redis.pcall('LINDEX', l.key, 0)
    if first then
      if type(first) ~= 'string' then corrupt(l.key, first) end
      l.since = string.match(first, '^2s (%d+)$')
      if not l.since then
        local since, units, from, till, told = string.match(first, '^3s (%d+) (%d+) (%-?%d+) (%d+) (%d+)$')
        l.since = since or corrupt(l.key)
        local theirs = { units = number(units, l.key), from = number(from, l.key), till = number(till, l.key),
                         told = number(told, l.key) }
        if theirs.till > now then l.foreign = theirs end
      end
      l.is_there, l.stored = true, redis.call('LLEN', l.key) - 1
    end
    l.newest = l.new[#l.new] or l.stored > 0 and element(l, l.stored - 1) or -kNever
  end

  -- The time at `place`, from 0 on, among the stored times and then the new ones.
  local function at(l, place)
    if place >= l.stored then return l.new[place - l.stored + 1] end
    local time = l.fetched[place]
    if time then return time end
    local times = redis.call('LRANGE', l.key, place + 1, place + l.chunk)
    for i = 1, #times do l.fetched[place + i - 1] = number(times[i], l.key) end
    return l.fetched[place]
  end

  -- Units that left at `from` or later.
  local function units_since(l, from)
    local total = l.stored + #l.new
    local low, high = 0, total
    while low < high do
      local middle = math.floor((low + high) / 2)
      if at(l, middle) < from then low = middle + 1 else high = middle end
    end
    return total - low
  end

  -- When what strangers have taken allows so many more units.
  local function foreign_allows(l, units)
    local theirs = l.foreign
    if not theirs or theirs.units == 0 or units_since(l, theirs.from) + theirs.units + units <= l.max then
      return -kNever
    end
    return theirs.till
  end

  local function front(l, w)
    local place = l.stored + #l.new - l.max + w - 1
    local own = place < 0 and -kNever or at(l, place) + l.interval
    return l.foreign and math.max(own, foreign_allows(l, w)) or own
  end

  local function commit(l, t, w)
    local new, time = l.new, math.max(whole(t), l.newest)
    for i = #new + 1, #new + w do new[i] = time end
    l.newest = time
  end

  -- The `units` before it leave `max` to an interval, each an interval after the one `max` places before.
  local function ahead(l, now, units)
    local rounds = math.floor(units / l.max)
    local place = l.stored + #l.new - l.max + units % l.max
    local own = math.max(now, place < 0 and -kNever or at(l, place) + l.interval) + rounds * l.interval
    return l.foreign and math.max(own, foreign_allows(l, units + 1)) or own
  end

  -- How many of the oldest times may be dropped: those over `max` that are an interval old now, and not only at the
  -- last departure's time: that departure may be taken back, or `max` raised. All of them, or half; sooner or later
  -- that is enough.
  local function past(l, now)
    local over = l.stored + #l.new - l.max
    for _, count in ipairs(over > 0 and { over, math.floor(over / 2) } or {}) do
      local time = l.fetched[count - 1] or count > 0 and redis.call('LINDEX', l.key, count)
      if time and (tonumber(time) or 0) + l.interval <= now then return count end
    end
    return 0
  end

  local function write(l, now)
    local new, dropped, first = l.new, l.anew and 0 or past(l, now), '2s ' .. (l.since or generation_number)
    local theirs = l.foreign
    if theirs then
      first = string.format('3s %s %d %d %d %d', l.since, theirs.units, theirs.from, theirs.till, theirs.told)
    end
    if l.anew and l.is_there then redis.call('LTRIM', l.key, 0, l.stored) end
    if #new > 0 and not l.is_there then redis.call('RPUSH', l.key, first) end
    for i = 1, #new do new[i] = string.format('%d', new[i]) end
    for first = 1, #new, 1000 do
      redis.call('RPUSH', l.key, unpack(new, first, math.min(first + 999, #new)))
    end
    if dropped > 0 then
      redis.call('LTRIM', l.key, dropped, -1)
      redis.call('LSET', l.key, 0, first)
    end
    if l.learned and dropped == 0 then redis.call('LSET', l.key, 0, first) end
    if #new > 0 then redis.call('PEXPIRE', l.key, lives_for(l.newest + l.interval - now)) end
  end

  local function passes(l) return l.max / l.interval end

  -- Free are those of the `max` places whose departures are an interval old by `till`.
  local function room(l, now, till)
    local total = l.stored + #l.new
    local low, high = math.max(0, total - l.max), total
    while low < high do
      local middle = math.floor((low + high) / 2)
      if at(l, middle) + l.interval <= till then low = middle + 1 else high = middle end
    end
    local own = l.max - (total - low)
    local theirs = l.foreign
    if not theirs or theirs.till <= till or theirs.units == 0 then return own end
    return math.max(0, math.min(own, l.max - units_since(l, theirs.from) - theirs.units))
  end

  local function left(l, now)
    return front(l, 1) > now and 0 or room(l, now, now), math.max(l.newest, now) + l.interval
  end

  -- The upstream counts a request when it arrives: one that left a little before its window began may count in that. Of
  -- ours it has counted the answered one, and those that left earlier.
  local function learn(l, now, departed, counted, resets)
    local known = l.foreign
    if not l.is_there or l.stored == 0 or departed <= now - l.interval or resets <= now then return end
    if known and departed < known.told - kLongestWay then return end
    local from = resets - (l.interval - kLonger)
    local ours = units_since(l, from - math.min(now - departed, kLongestWay))
    local before = math.max(0, units_since(l, from) - units_since(l, departed))
    local most = math.max(0, counted - before - 1)
    local least = math.min(most, math.max(0, counted - ours))
    l.learned = true
    if known and departed < known.told then
      known.units = math.max(known.units, least)
    else
      local units = math.min(most, math.max(least, known and known.units or 0))
      l.foreign = { units = units, from = from, till = resets, told = departed }
    end
  end

  -- Takes back the newest departures only.
  local function undo(l, departure, w)
    while w > 0 and l.stored > 0 and element(l, l.stored - 1) == departure do
      redis.call('RPOP', l.key)
      w, l.stored = w - 1, l.stored - 1
    end
  end

  -- From when on a unit with so many before it may have left.
  local function free_for(l, place)
    return place < l.max and -kNever or at(l, place - l.max) + l.interval
  end

  -- The units that are free now, and each of the others at the moment when an older one leaves the window.
  local function commit_cost(l, t, cost)
    local new, time, chunk = l.new, math.max(whole(t), l.newest), l.chunk
    local before = #new
    l.chunk = math.max(kChunk, math.min(cost, l.max))
    for i = before + 1, before + cost do
      time = math.max(time, free_for(l, l.stored + i - 1))
      new[i] = time
    end
    l.newest, l.chunk = time, chunk
  end

  -- See SlidingWindow::settle() in flow/.
  local function settle(l, departure, now, taken, cost)
    if cost > taken then return commit_cost(l, now, cost - taken) end
    if departure <= now - l.interval then return end
    local total = l.stored
    local first = total - units_since(l, departure)
    local kept, next = math.min(first + cost, total), math.min(first + taken, total)
    l.chunk = math.max(kChunk, math.min(total - kept, l.max))
    local rest = {}
    for place = next, total - 1 do rest[#rest + 1] = at(l, place) end
    l.newest = kept > 0 and at(l, kept - 1) or -kNever
    l.stored, l.new, l.anew = kept, rest, true
    for i = 1, #rest do
      if rest[i] > now then rest[i] = math.max(whole(now), l.newest, free_for(l, kept + i - 1)) end
      l.newest = rest[i]
    end
  end

  -- The first times from a little before `from` on give way: a time that was handed in may differ by kEdge, and one
  -- that was stored as late as the newest is later. To move a time that is too old does no harm. A time that is an
  -- interval old may have been dropped, so there `to` is added.
  local function moved(l, moves)
    local kept, new, i = l.stored, l.new, 1
    while kept > 0 and element(l, kept - 1) >= moves[1].from - kEdge do kept = math.max(0, kept - kChunk) end
    local times = redis.call('LRANGE', l.key, kept + 1, -1)
    local count = #times
    for n = 1, count do new[n] = number(times[n], l.key) end
    for _, move in ipairs(moves) do
      while i <= count and new[i] < move.from - kEdge do i = i + 1 end
      for _ = 1, l.by_cost and move.cost or move.w do
        if move.to - move.from >= l.interval then
          new[#new + 1] = move.to
        elseif i <= count and new[i] < move.to then
          new[i], i = move.to, i + 1
        end
      end
    end
    table.sort(new)
    l.stored, l.newest, l.anew = kept, new[#new] or l.newest, true
  end

  local function merge(l, other)
    local times = redis.call('LRANGE', l.key, 1, -1)
    for i = 1, #times do times[i] = number(times[i], l.key) end
    for i = 1, #other.new do times[#times + 1] = other.new[i] end
    table.sort(times)
    l.stored, l.new, l.newest, l.anew = 0, times, times[#times] or -kNever, true
  end

  return { read = read_state, front = front, commit = commit, ahead = ahead, write = write, passes = passes,
           room = room, left = left, undo = undo, moved = moved, merge = merge, learn = learn,
           commit_cost = commit_cost, settle = settle, is_list = true }
end
