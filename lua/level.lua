-- SPDX-License-Identifier: Apache-2.0
-- Equal shares of what the limits of a scope let pass within the horizon, counted in weights: a limit that counts the
-- cost passes as many as if all requests cost as much for their weight as the caller's. It is poured over all processes
-- that want departures, those that had the least first, each at most up to what it wants: the level reached is how much
-- each may have had. Created only when a process waits.
-- While processes read a new configuration, one after the other, their limits differ. Each goes by its own limits; of a
-- process with other limits it counts only what that one was told to expect within the horizon, and one step of it.
-- Otherwise the process with the loosest limits would wait for the one with the strictest, as long as that one wants
-- more than its limits ever let it have.
local function level_part(line)
  local kFewest = 6   -- units that are worth a call, if so many pass within half a horizon

  -- How many units a process takes at a time: its part of what the slowest limit passes within a horizon in the long
  -- run, but no more than passes until it asks again. By so many it may be ahead of the others, or by its weight.
  local function slack_of(a, among)
    local rate = 1
    for i = 1, #a.wide do
      local l = a.wide[i]
      if l.kind.passes then rate = math.min(rate, l.kind.passes(l) * (l.cost and a.w / l.cost or 1)) end
    end
    local passed = rate * kHorizon
    local part = math.max(math.floor(passed / among), kFewest)
    local step = math.min(math.floor(passed / 2) + 1, part)
    return math.max(a.w, step), step, math.floor(passed)
  end

  -- What is counted of the units that another process wants: `most` in all, `first` before the caller's next departure.
  local function count(a, one)
    one.most, one.first = one.wants, one.wants
    if one.hash == a.hash then return end
    one.most = math.min(one.wants, a.step)
    one.first = math.min(one.most, a.passed)
  end

  -- A limit that was looser for the process that departed last would hold the caller back for good.
  local function ease(a, told)
    if told > a.now + kHorizon then return end
    for i = 1, #a.wide do
      local l = a.wide[i]
      if l.kind.ease then l.kind.ease(l, told) end
    end
  end

  -- Finds the caller in the line, and the other processes that have a claim. A caller that has no claim, or is new,
  -- counts as no further behind than the slack; then what all have had is subtracted.
  local function enter(a)
    local all, others, mine, least = a.line, {}, nil, kNever
    a.soonest = kNever
    for i = 1, #all do
      local one = all[i]
      a.differ = a.differ or one.hash ~= a.hash
      if one.who == a.me then
        mine, a.seniors = one, #others
      elseif line.claims(one, a.now) and (one.hash == a.hash or one.at <= a.now + kHorizon) then
        others[#others + 1] = one
        least, a.soonest = math.min(least, one.had), math.min(a.soonest, one.at)
      end
    end
    a.others, a.is_new = others, not mine
    if mine and a.differ then ease(a, mine.at) end
    a.mine = mine or { who = a.me, had = 0, wants = 0, at = 0 }
    a.mine.hash, mine = a.hash, a.mine
    a.slack, a.step, a.passed = slack_of(a, #others + 1)
    for i = 1, #others do count(a, others[i]) end
    if #others == 0 then return end
    if not line.claims(mine, a.now) then mine.had = math.max(mine.had, least - a.slack) end
    local common = math.min(mine.had, least)
    a.least = least - common
    if common == 0 then return end
    mine.had = mine.had - common
    for i = 1, #all do
      local one = all[i]
      if one ~= mine then one.had = math.max(0, one.had - common) end
    end
  end

  local function poured_to(level, mine, others)
    local units = level - mine.had
    for i = 1, #others do
      local one = others[i]
      if one.had < level then units = units + math.min(one.most, level - one.had) end
    end
    return units
  end

  -- How many departures the caller may have now, and the limit that decides it. The room is what all of the limits pass
  -- until the horizon, as they are now.
  local function most_of(a)
    local mine, others, room, by = a.mine, a.others, kNever, nil
    if #others == 0 then return a.n end
    for i = 1, #a.wide do
      local l = a.wide[i]
      local passed = l.kind.room and l.kind.room(l, a.now, a.now + kHorizon) or kNever
      if l.cost then passed = passed * a.w / l.cost end
      if passed < room then room, by = passed, l end
    end
    room = math.floor(math.max(0, room) + kNoise)
    local level, above = mine.had, mine.had + math.min(room, a.n * a.w)
    if poured_to(above, mine, others) <= room then level = above end
    while above - level > 1 do
      local between = math.floor((level + above) / 2)
      if poured_to(between, mine, others) <= room then level = between else above = between end
    end
    local units, least = level - mine.had, a.least + a.slack - mine.had
    if least > 0 then units = math.max(units, least, a.w) end
    a.most = math.floor(units / a.w)
    return a.most, by
  end

  -- Units that go before the caller's next departure. The others are served by how little they had, then by seniority,
  -- which a grant ends; the weight of their requests is not known.
  local function units_first(a)
    local units, stays = 0, a.granted == 0 and not a.is_new
    for i = 1, #a.others do
      local one = a.others[i]
      local behind = a.mine.had - one.had
      if behind > 0 then
        units = units + math.min(one.first, math.ceil(behind / a.step) * a.step)
      elseif behind == 0 and not (stays and i > a.seniors) then
        units = units + math.min(one.first, a.step)
      end
    end
    return units
  end

  -- Estimates when the caller may expect its next departure. Units that pass before any other process is expected to
  -- ask go to a caller that may still have more: otherwise they are lost if those others come too late. A caller that the
  -- level gives nothing waits until the limits pass what lifts the others to its level as well; that may be long, where
  -- what passes now is too little for another process' heavy request. It asks again after a second, because that one may
  -- want less by then; soon, where limits count costs, which may be small.
  local function expect(a)
    local units, may_have = units_first(a), a.least + a.slack - a.mine.had
    if units > 0 and may_have >= a.w and a.soonest - kHorizon / 2 > ahead_of(a.wide, a.now, 0, a.w) then units = 0 end
    local t, limit = ahead_of(a.wide, a.now, units, a.w)
    if a.most == 0 and t <= a.now + kHorizon then
      units = poured_to(a.mine.had + a.w, a.mine, a.others) - a.w
      t, limit = ahead_of(a.wide, a.now, units, a.w)
      a.asks_by = a.now + (a.by_cost and 2 * kHorizon or 1000000)
      if a.by_cost then t = math.max(t, a.asks_by) end
    end
    if a.wide_windows and t < kNever then t, limit = off_edges(a.wide_windows, t, limit) end
    limit = limit or a.by
    stop_at(a, 'turn', a.only_narrow and (limit and limit.letter or 'n') or 'u', limit, math.max(t, a.now + 1))
  end

  -- When to ask again: asking before a reset is in vain.
  local function again_at(a, early)
    if a.by and a.by.kind.front(a.by, needed(a.by, a.w)) == kNever then
      return math.max(a.not_before, a.now + kHorizon)
    end
    return math.max(a.not_before - early, a.now + kHorizon / 10)
  end

  -- In a narrow line beside the upstream's each process stands for one departure.
  local function settle_narrow(a)
    local mine = line.find(a.narrow_line, a.me)
    if not mine then
      mine = { who = a.me, had = 0, hash = a.hash }
      a.narrow_line[#a.narrow_line + 1] = mine
    end
    mine.wants, mine.at = a.w, a.not_before
    a.again = again_at(a, kNarrowReach - 1000)
  end

  -- A process that wants more than it was granted stands in the line, with all that it asked for: clients that are
  -- served come again. If others want departures, it asks again in time; if it is alone, when its last departure is
  -- about to leave.
  local function settle(a)
    local mine, wants, at = a.mine, a.more, math.max(a.now + kHorizon / 2, a.base)
    local front = a.differ and earliest(a.wide, at, a.w) or at
    if front < kNever then at = front end
    mine.had = mine.had + a.granted * a.w
    if #a.others == 0 then mine.had = math.min(mine.had, a.slack) end
    if a.narrow and a.granted > 0 then line.drop(a.narrow_line, a.me) end
    if a.stop == 'turn' and a.narrow and a.letter == 'n' then
      if a.granted == 0 then settle_narrow(a) end
    elseif a.stop == 'turn' then
      if #a.others > 0 then expect(a) end
      wants, at = wants + (a.n - a.granted) * a.w, math.max(at, a.not_before)
      if a.granted == 0 or #a.others > 0 then a.again = math.min(again_at(a, kHorizon / 2), a.asks_by or kNever) end
    end
    local _, place = line.drop(a.line, a.me)
    if wants > 0 then wants = wants + a.granted * a.w end
    mine.wants, mine.at = wants, whole(at)
    if wants > 0 or mine.had > 0 then table.insert(a.line, a.granted == 0 and place or #a.line + 1, mine) end
    if wants > 0 or #a.others > 0 or line.somebody_wants(a.line) then return end
    for i = #a.line, 1, -1 do a.line[i] = nil end
  end

  -- For estimates: how many other processes want departures, how many units less than the caller these have had, and
  -- the state of each limit. A process that is late, because it is far away, has no claim but will still come.
  local function standing(a)
    local others, less = 0, 0
    for i = 1, #a.line do
      local one = a.line[i]
      if one ~= a.mine and one.wants > 0 then
        others, less = others + 1, less + math.min(a.mine.had - one.had, one.most or one.wants)
      end
    end
    local told = { others, less }
    for i = 1, #a.wide do
      local l, since, units = a.wide[i], nil, nil
      if l.kind.stands then since, units = l.kind.stands(l) end
      if since then told[#told + 1], told[#told + 2], told[#told + 3] = l.index, since, units end
    end
    return told
  end

  return { enter = enter, most_of = most_of, settle = settle, standing = standing }
end
