-- SPDX-License-Identifier: Apache-2.0
-- The turns of those who wait longer than the horizon, in order, at most one for each process: "who/t/n/w", then
-- "/at:limit" for each departure that became a booking before its owner asked. t is when it was expected to come.
-- Made only where somebody waits. Those of the upstream stand in its head, those of a group have a key while there are
-- any: "1t" and the turns.
local function turns_part()
  local kDropAfter = 1000000

  local function parse(text, key, now)
    local turns = {}
    for word in string.gmatch(text, '%S+') do
      local who, t, n, w, times = string.match(word, '^([^/]+)/(%d+)/(%d+)/(%d+)([%d/:.%-]*)$')
      if not who or string.gsub(times, '/[%d.]+:%-?%d+', '') ~= '' then corrupt(key) end
      local turn = { who = who, t = number(t, key), n = number(n, key), w = number(w, key) }
      for at, limit in string.gmatch(times, '/([%d.]+):(%-?%d+)') do
        turn[#turn + 1] = { at = number(at, key), limit = number(limit, key) }
      end
      local last = turn[#turn]
      if math.max(turn.t, last and last.at or 0) + kDropAfter >= now then turns[#turns + 1] = turn end
    end
    return turns
  end

  local function text_of(turns)
    local words = {}
    for i = 1, #turns do
      local turn = turns[i]
      words[#words + 1] = string.format(' %s/%d/%d/%d', turn.who, turn.t, turn.n, turn.w)
      for k = 1, #turn do words[#words + 1] = string.format('/%.4f:%d', turn[k].at, turn[k].limit) end
    end
    return table.concat(words)
  end

  local function find(turns, who)
    for i = 1, #turns do
      if turns[i].who == who then return turns[i], i end
    end
  end

  -- Units that the turns before one's own still want; of all turns, where one has none.
  local function units_before(turns, who)
    local units = 0
    for i = 1, #turns do
      local turn = turns[i]
      if turn.who == who then break end
      units = units + (turn.n - #turn) * turn.w
    end
    return units
  end

  local function take(turns, who, t, n, w)
    local turn = find(turns, who)
    if not turn then
      turn = { who = who }
      turns[#turns + 1] = turn
    end
    turn.t, turn.n, turn.w = t, #turn + n, w
  end

  local function drop(turns, who)
    local _, place = find(turns, who)
    if place then table.remove(turns, place) end
    return place
  end

  local function parse_group(text, key, now)
    local rest = string.match(text, '^1t(.*)$')
    if not rest then corrupt(key) end
    return parse(rest, key, now)
  end

  local function write_group(turns, key, now)
    local last = now
    for i = 1, #turns do last = math.max(last, turns[i].t) end
    if #turns == 0 then redis.call('DEL', key) else store(key, '1t' .. text_of(turns), last + kDropAfter - now) end
  end

  return { parse = parse, text_of = text_of, find = find, units_before = units_before, take = take, drop = drop,
           parse_group = parse_group, write_group = write_group }
end
