-- SPDX-License-Identifier: Apache-2.0
-- Takes back departures that were booked and not used, in each limit where that is exact; elsewhere they are lost.
-- KEYS: head; then one for each limit.
-- ARGV: 1 generation · 2 how many departures · from 3 on two for each, the latest first: at, weight; then six for each limit
--   as in book.lua.
-- Answer: ok|stale; with another generation nothing is left to be taken back.
local head = head_read('', 0)
if head.gen ~= ARGV[1] then return 'stale' end

local count, limits = tonumber(ARGV[2]), {}
for i = 0, #KEYS - 2 do limits[i + 1] = limit_read(i, KEYS[2 + i], 3 + 2 * count, head.now) end
for i = 1, #limits do
  local l = limits[i]
  for k = 0, count - 1 do
    if l.kind.undo then l.kind.undo(l, tonumber(ARGV[3 + 2 * k]), tonumber(ARGV[4 + 2 * k])) end
  end
  if l.kind.undo then l.kind.write(l, head.now) end
end
return 'ok'
