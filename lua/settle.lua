-- SPDX-License-Identifier: Apache-2.0
-- What a departure has cost is known: more than was reserved for it is a debt, of less each limit gives back no more than
-- it would have now if that had been known before. Processes that were told to come much later than now may come earlier
-- then, and are told so.
-- KEYS: head; the line of its lane, if that is not the upstream's; then one for each limit.
-- ARGV: 1 generation · 2 when it departed · 3 when it was booked for: limits that do not count it from when it left know
--   that · 4 "taken cost": what was reserved, and what it has cost · 5 how channels begin: "<prefix>:to:" · 6 upstream
--   7 the key of that line, '' the upstream's · from 8 on six for each limit as in book.lua; those that do not count the
--   cost are left out
-- Answer: ok|stale; another generation knows nothing of that departure.
local departed, booked, channel, upstream, key = tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[5], ARGV[6], ARGV[7]
local taken, cost = load_of(ARGV[4])
local head = head_read()
if head.gen ~= ARGV[1] then return 'stale' end

local now, first_key, limits, letters = head.now, key ~= '' and 3 or 2, {}, {}
for i = 0, #KEYS - first_key do
  local l = limit_read(i, KEYS[first_key + i], 8, now)
  if l.by_cost then
    letters[l.letter] = true
    limits[#limits + 1] = l
  end
end
for i = 1, #limits do
  local l = limits[i]
  settle_limit(l, l.kind.moved and departed or booked, now, taken, cost)
  l.kind.write(l, now)
end
if cost >= taken then return 'ok' end

local line = line_part()
if letters.u then tell_waiting(line.parse(head.line, KEYS[1], now), now + kHorizon, channel, upstream, '') end
local text = letters.n and key ~= '' and read(KEYS[2])
if text then tell_waiting(line.parse_narrow(text, KEYS[2], now), now + kHorizon, channel, upstream, key) end
return 'ok'
