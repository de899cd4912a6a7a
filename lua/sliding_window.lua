-- SPDX-License-Identifier: Apache-2.0
-- slidingWindow { max, interval }: at most `max` units in any half-open interval. State: a LIST of the last departures'
-- times, whole and ascending, one for each unit; only what is looked at is read. The interval is kept 2 ms longer,
-- because processes are late by different amounts.
local function sliding_window()
  local kGuard, kChunk = 2000, 64

  local function element(l, place) return number(redis.call('LINDEX', l.key, place), l.key) end

  -- `text` is what a process hands in: "1s t t …".
  local function read_state(l, text, now, most, interval)
    l.max, l.interval, l.fetched, l.new = most, interval + kGuard, {}, {}
    if text then
      if not string.match(text, '^1s[%d %-]*$') then corrupt(l.key) end
      for time in string.gmatch(text, ' (%S+)') do l.new[#l.new + 1] = number(time, l.key) end
    end
    l.stored = text and 0 or redis.pcall('LLEN', l.key)
    if type(l.stored) == 'table' then corrupt(l.key) end
    l.newest = l.new[#l.new] or l.stored > 0 and element(l, -1) or -kNever
  end

  -- The time at a place from 0 on, of what is stored and what is new.
  local function at(l, place)
    if place >= l.stored then return l.new[place - l.stored + 1] end
    local time = l.fetched[place]
    if time then return time end
    local times = redis.call('LRANGE', l.key, place, place + (l.wants or kChunk) - 1)
    for i = 1, #times do l.fetched[place + i - 1] = number(times[i], l.key) end
    return l.fetched[place]
  end

  local function front(l, w)
    local place = l.stored + #l.new - l.max + w - 1
    return place < 0 and -kNever or at(l, place) + l.interval
  end

  local function commit(l, t, w)
    local new, time = l.new, math.max(whole(t), l.newest)
    for i = #new + 1, #new + w do new[i] = time end
    l.newest = time
  end

  -- Those before it leave `max` to an interval, each an interval after the one `max` places before.
  local function ahead(l, now, units)
    local rounds = math.floor(units / l.max)
    local place = l.stored + #l.new - l.max + units % l.max
    return math.max(now, place < 0 and -kNever or at(l, place) + l.interval) + rounds * l.interval
  end

  -- Times are dropped that are over `max` and past: while processes disagree about `max`, the larger one needs more.
  local function trims(l)
    local place = l.stored + #l.new - l.max - 1
    if place < 0 then return false end
    local time = l.new[place - l.stored + 1] or l.fetched[place] or redis.call('LINDEX', l.key, place)
    return tonumber(time) + l.interval <= l.newest
  end

  local function write(l, now)
    local new, trim = l.new, trims(l)
    if l.anew then redis.call('DEL', l.key) end
    for i = 1, #new do new[i] = string.format('%d', new[i]) end
    for first = 1, #new, 1000 do
      redis.call('RPUSH', l.key, unpack(new, first, math.min(first + 999, #new)))
    end
    if trim then redis.call('LTRIM', l.key, -l.max, -1) end
    if #new > 0 then redis.call('PEXPIRE', l.key, milliseconds(l.newest + l.interval - now)) end
  end

  local function passes(l) return l.max end

  -- Of the newest only. A full list has forgotten what was before its oldest: that was no later than an interval before
  -- the departure that is taken back.
  local function undo(l, departure, w)
    local stored = l.stored
    while w > 0 and stored > 0 and element(l, -1) == departure do
      local forgotten = math.min(element(l, 0), departure - l.interval)
      redis.call('RPOP', l.key)
      if stored >= l.max then
        redis.call('LPUSH', l.key, string.format('%d', forgotten))
      else
        stored = stored - 1
      end
      w = w - 1
    end
    l.stored = stored
  end

  local function merge(l, other)
    local times = redis.call('LRANGE', l.key, 0, -1)
    for i = 1, #times do times[i] = number(times[i], l.key) end
    for i = 1, #other.new do times[#times + 1] = other.new[i] end
    table.sort(times)
    l.stored, l.new, l.newest, l.anew = 0, times, times[#times] or -kNever, true
  end

  return { read = read_state, front = front, commit = commit, ahead = ahead, write = write, passes = passes,
           undo = undo, merge = merge, is_list = true }
end
