-- SPDX-License-Identifier: Apache-2.0
-- After Redis lost its memory: a process hands in what it remembers, its own departures, as states in the form in
-- which they are stored ("1s t t …" for a sliding window). They are merged with what others handed in. A generation
-- opens when as many as were alive have done so, or a second after it began. What does not fit one call comes in
-- several, `last` with the last.
-- KEYS: head, alive; then one for each state.
-- ARGV: 1 me · 2 the generation that is handed in to · 3 last 0|1, or + for what was departed without Redis by one
--   who may have handed in before · from 4 on five for each state: kind, its three numbers, and the state; '' for
--   nothing: then it is only seen to that what is stored is ours
-- Answer: 1 open|closed|stale · 2 now · 3 when to ask again, 0: at once
local kStateArguments = 5

local me = ARGV[1]
local head = head_read('', 0)
local now = head.now
if head.gen ~= ARGV[2] then return { 'stale', now, 0 } end

local function answer()
  if head_closed(head) then return { 'closed', now, head.birth + kClosedFor } end
  return { 'open', now, 0 }
end
local known = string.find(',' .. head.handed .. ',', ',' .. me .. ',', 1, true)
if known and ARGV[3] ~= '+' then return answer() end

local limits = {}
for i = 0, #KEYS - 3 do
  local first, key = 4 + i * kStateArguments, KEYS[3 + i]
  local kind, text = kind_of(ARGV[first]), ARGV[first + 4]
  local x, y, z = tonumber(ARGV[first + 1]), tonumber(ARGV[first + 2]), tonumber(ARGV[first + 3])
  local l, mine = { key = key, kind = kind }, { key = key, kind = kind }
  kind.read(l, not kind.is_list and read(key), now, x, y, z)
  if text ~= '' then
    kind.read(mine, text, now, x, y, z)
    kind.merge(l, mine, ARGV[3] ~= '+' and now)
    limits[#limits + 1] = l
  end
end
for i = 1, #limits do limits[i].kind.write(limits[i], now) end
touch(KEYS[2], me, now)
if ARGV[3] == '1' then head.handed = head.handed == '-' and me or head.handed .. ',' .. me end
local reply = answer()
head_write(head)
return reply
