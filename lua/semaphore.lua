-- SPDX-License-Identifier: Apache-2.0
-- semaphore { capacity, lease }: at most `capacity` in flight over all processes, in the order of asking. What a process
-- holds is a lease: gone when it was not heard of for so long. Permits granted and returned are counted up for ever, each
-- side telling its total, so that a message lost, late or heard twice changes nothing.
-- State "1s|who:granted:returned:until …|who:n …": the processes, and who waits for how many, in order.
-- A process tells "returned:claimed:spare:others": what it has returned in total, holds (spare ones included), holds without
-- using, and wants besides for its other lanes. A young generation grants nothing for half a lease, while those who hold
-- permits register: Redis cannot tell that it never knew them from having forgotten them.
local function semaphore()
  local me = ARGV[1]

  local function read_state(l, text, now, capacity, lease, told)
    l.capacity, l.lease, l.now = capacity, lease, now
    local returned, claimed, spare, others = string.match(told, '^(%d+):(%d+):(%d+):(%d+)$')
    l.returned, l.claimed, l.spare, l.others = tonumber(returned), tonumber(claimed), tonumber(spare), tonumber(others)
    l.holders, l.waiters, l.held = {}, {}, 0
    local holders, waiters = string.match(text or '1s||', '^1s|([^|]*)|([^|]*)$')
    if not holders then corrupt(l.key) end
    for word in string.gmatch(holders, '%S+') do
      local who, granted, returned, ends = string.match(word, '^([^:]+):(%d+):(%d+):(%d+)$')
      if not who then corrupt(l.key) end
      local one = { who = who, granted = number(granted, l.key), returned = number(returned, l.key),
                    ends = number(ends, l.key) }
      if one.ends > now then
        l.holders[#l.holders + 1], l.holders[who] = one, one
        l.held = l.held + one.granted - one.returned
      end
    end
    for word in string.gmatch(waiters, '%S+') do
      local who, n = string.match(word, '^([^:]+):(%d+)$')
      if not who then corrupt(l.key) end
      if l.holders[who] then l.waiters[#l.waiters + 1] = { who = who, n = number(n, l.key) } end
    end
  end

  -- Takes up what I tell of myself. A permit that I hold and Redis does not know is registered as long as there is room, or
  -- the generation is young; otherwise it is lost, and may be another's.
  local function enter(l, birth)
    l.open, l.lost = l.now >= birth + l.lease / 2, 0
    local mine = l.holders[me]
    if not mine then
      mine = { who = me, granted = l.returned, returned = l.returned }
      l.holders[#l.holders + 1], l.holders[me] = mine, mine
    end
    local returned = math.max(0, math.min(l.returned, mine.granted) - mine.returned)
    mine.returned, l.held = mine.returned + returned, l.held - returned
    local unknown = math.max(0, l.returned + l.claimed - mine.granted)
    local kept = l.open and math.min(unknown, math.max(0, l.capacity - l.held)) or unknown
    mine.granted, l.held, l.lost = mine.granted + kept, l.held + kept, unknown - kept
    mine.ends = l.now + l.lease
    l.spare = math.max(0, l.spare - l.lost)
  end

  -- How many I may use at once: those that I have to spare, and those that nobody else waits for.
  local function free(l)
    if not l.open then return l.spare end
    local others = 0
    for i = 1, #l.waiters do
      if l.waiters[i].who ~= me then others = others + l.waiters[i].n end
    end
    return l.spare + math.max(0, l.capacity - l.held - others)
  end

  local function wait_for(l, wanted)
    for i = 1, #l.waiters do
      if l.waiters[i].who == me then wanted = wanted - l.waiters[i].n end
    end
    local last = l.waiters[#l.waiters]
    if wanted > 0 and last and last.who == me then
      last.n = last.n + wanted
    elseif wanted > 0 then
      l.waiters[#l.waiters + 1] = { who = me, n = wanted }
    end
    for i = #l.waiters, 1, -1 do
      local one = l.waiters[i]
      if wanted < 0 and one.who == me then
        local fewer = math.min(one.n, -wanted)
        one.n, wanted = one.n - fewer, wanted + fewer
        if one.n == 0 then table.remove(l.waiters, i) end
      end
    end
  end

  local function tell_permits(l, who, granted)
    local prefix, upstream = string.match(l.key, '^(.-):{(.-)}:')
    return tell(prefix .. ':to:' .. who, string.format('%s permits %s %d', upstream, l.key, granted))
  end

  -- Gives what is free to whoever has waited longest. A process that does not hear of it has gone, or is cut off.
  local function hand_over(l)
    while l.open and l.held < l.capacity and l.waiters[1] do
      local first = l.waiters[1]
      local one, n = l.holders[first.who], math.min(first.n, l.capacity - l.held)
      first.n = first.n - n
      if first.n == 0 then table.remove(l.waiters, 1) end
      local heard = first.who == me or tell_permits(l, first.who, one.granted + n) > 0
      if heard then
        one.granted, l.held = one.granted + n, l.held + n
      elseif first.n > 0 then
        table.remove(l.waiters, 1)
      end
    end
  end

  -- I use so many, and wait for so many more; others get what is free then. Answers what I was granted in total.
  local function take(l, used, wanted)
    local mine = l.holders[me]
    local new = math.max(0, used - l.spare)
    mine.granted, l.held = mine.granted + new, l.held + new
    wait_for(l, l.others + wanted)
    hand_over(l)
    local holders, waiters, last = {}, {}, l.now
    for i, one in ipairs(l.holders) do
      holders[i] = string.format('%s:%d:%d:%d', one.who, one.granted, one.returned, one.ends)
      last = math.max(last, one.ends)
    end
    for i, one in ipairs(l.waiters) do waiters[i] = string.format('%s:%d', one.who, one.n) end
    store(l.key, '1s|' .. table.concat(holders, ' ') .. '|' .. table.concat(waiters, ' '), last - l.now)
    return mine.granted
  end

  return { read = read_state, enter = enter, free = free, take = take }
end
