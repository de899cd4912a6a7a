-- SPDX-License-Identifier: Apache-2.0
-- The turns of those who wait longer than the horizon, in order, at most one for each process: "who/t/n/w", then
-- "/at:limit" for each departure that became a booking before its owner asked. t is when it was expected to come.
local kDropAfter = 1000000

local function turns_parse(text, key, now)
  local turns = {}
  for word in gmatch(text, '%S+') do
    local who, t, n, w, times = match(word, '^([^/]+)/(%d+)/(%d+)/(%d+)([%d/:%-]*)$')
    if not who then corrupt(key) end
    local turn = { who = who, t = number(t, key), n = number(n, key), w = number(w, key) }
    for at, limit in gmatch(times, '/(%d+):(%-?%d+)') do
      turn[#turn + 1] = { at = number(at, key), limit = number(limit, key) }
    end
    local last = turn[#turn]
    if max(turn.t, last and last.at or 0) + kDropAfter >= now then turns[#turns + 1] = turn end
  end
  return turns
end

local function turns_text(turns)
  local words = {}
  for i = 1, #turns do
    local turn = turns[i]
    local word = format(' %s/%d/%d/%d', turn.who, turn.t, turn.n, turn.w)
    for k = 1, #turn do word = format('%s/%d:%d', word, turn[k].at, turn[k].limit) end
    words[i] = word
  end
  return concat(words)
end

local function turn_of(turns, who)
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

local function take_turn(turns, who, t, n, w)
  local turn = turn_of(turns, who)
  if not turn then
    turn = { who = who }
    turns[#turns + 1] = turn
  end
  turn.t, turn.n, turn.w = t, n, w
end

local function drop_turn(turns, who)
  local _, place = turn_of(turns, who)
  if place then table.remove(turns, place) end
end

-- The turns that wait for one group have a key, as long as there are any.
local function group_turns_read(key, now)
  local text = read(key)
  local rest = match(text or '1t', '^1t(.*)$')
  if not rest then corrupt(key) end
  local turns = turns_parse(rest, key, now)
  turns.key, turns.was = key, text
  return turns
end

local function group_turns_write(turns, now)
  if #turns == 0 then
    if turns.was then call('DEL', turns.key) end
    return
  end
  local last = now
  for i = 1, #turns do last = max(last, turns[i].t) end
  local text = '1t' .. turns_text(turns)
  if text ~= turns.was then store(turns.key, text, last + kDropAfter - now) end
end
