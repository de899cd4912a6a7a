-- SPDX-License-Identifier: Apache-2.0
-- What turns become. Made only where somebody waits.
local function waiting_part(line)
  -- What a group's limits hold back would be a hole in those of the upstream.
  local function wants(a, share) return a.narrow and a.narrow[1] and 1 or math.min(a.n, share) end

  -- Turns that came within the horizon become bookings, in order, whoever asks: so nobody jumps ahead, and nobody's
  -- late message costs a departure.
  local function convert(a, share)
    local mine = line.find(a.turns, a.me)
    if mine and #mine == 0 and a.n > 0 then mine.n, mine.w = wants(a, share), a.w end   -- whichever lane took the turn
    for i = 1, #a.turns do
      local turn, base, before = a.turns[i], a.now, nil
      while #turn < turn.n do
        local t, limit = earliest(a.wide, base, turn.w)
        if a.wide_windows and t < kNever then t, limit = off_edges(a.wide_windows, t, limit) end
        if whole(t) > a.now + kHorizon then return end
        commit(a.wide, t, turn.w)
        base, before = t, limit or before
        turn[#turn + 1] = { at = t, limit = before and before.index or -1 }
      end
    end
  end

  -- When the group allows it too.
  local function with_group(a, t, limit)
    if not a.narrow then return t, limit end
    local g, blamed = group_allows(a, t)
    if a.stop ~= '' then return end
    if a.windows then g, blamed = off_edges(a.windows, g, blamed) end
    commit(a.narrow, g, a.w)
    return g, blamed and blamed.index or limit
  end

  local function take_first(turn)
    turn.n = turn.n - 1
    return table.remove(turn, 1)
  end

  -- Takes the bookings that my turn became. Those for a lesser weight, and those long past, are lost. What my turn still
  -- wants keeps its place.
  local function collect(a)
    local turn = line.find(a.turns, a.me)
    if not turn or #turn == 0 then return end
    while turn[1] and (turn.w < a.w or turn[1].at < a.now - kHorizon) do take_first(turn) end
    while turn[1] and a.granted < a.n and not no_permit(a) do
      local t, limit = with_group(a, math.max(a.base, turn[1].at), turn[1].limit)
      if a.stop ~= '' then break end
      grant(a, t, limit)
      take_first(turn)
    end
    if turn.n == 0 or turn.w < a.w then line.drop(a.turns, a.me) end
  end

  -- When to ask again: to ask before a reset is in vain.
  local function again_at(a, of_group)
    if a.by and a.by.kind.front(a.by, a.w) == kNever then return math.max(a.not_before, a.now + kHorizon) end
    return math.max(a.not_before - (of_group and kGroupSlack - 1000 or kHorizon / 2), a.now + kHorizon / 10)
  end

  -- Whoever waits for a time gets a turn for what is left of its share; whoever waits for nothing, or for its own
  -- departures first, needs none. With departures granted, it asks again when the last of them is about to leave.
  local function settle(a, share)
    local mine, left = line.find(a.turns, a.me), wants(a, share) - a.granted
    if a.narrow and a.granted > 0 then line.drop(a.group_turns, a.me) end
    if a.stop == 'turn' and a.not_before > 0 and left > 0 then
      local of_group = a.narrow and a.letter == 'g'
      line.take(of_group and a.group_turns or a.turns, a.me, a.not_before, left, a.w)
      if a.granted == 0 then a.again = again_at(a, of_group) end
    elseif mine and a.granted > 0 then
      mine.n = #mine
      if mine.n == 0 then line.drop(a.turns, a.me) end
    end
  end

  return { convert = convert, collect = collect, settle = settle }
end
