-- SPDX-License-Identifier: Apache-2.0
-- Which process may send the one request that goes first when a pause is over. The right ends by itself, since its
-- holder may die. State "1r until who".
-- KEYS: the right.   ARGV: 1 the caller · 2 for how many microseconds; 0: it gives the right back
-- Answer: 0 the caller has it; otherwise after how many microseconds to ask again.
local me, length, now = ARGV[1], tonumber(ARGV[2]), clock_time()
local text, left = read(KEYS[1]), 0
if text then
  local till, who = string.match(text, '^1r (%d+) (.+)$')
  if not till then corrupt(KEYS[1]) end
  left = who ~= me and number(till, KEYS[1]) - now or 0
end
if left > 0 and length > 0 then return math.ceil(left) end
if length > 0 then
  redis.call('SET', KEYS[1], string.format('1r %d %s', now + length, me), 'PX', milliseconds(length))
elseif text and left <= 0 then
  redis.call('DEL', KEYS[1])
end
return 0
