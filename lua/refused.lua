-- SPDX-License-Identifier: Apache-2.0
-- The upstream refused a request: limits that learn from this lower their rates, once for all refusals of requests that
-- had left before.
-- KEYS: head; then one for each limit.
-- ARGV: 1 generation · 2 when the refused request departed · from 3 on six for each limit as in book.lua.
-- Answer: ok|stale; another generation knows nothing of that departure.
local head = head_read()
if head.gen ~= ARGV[1] then return 'stale' end

local limits = {}
for i = 0, #KEYS - 2 do
  local l = limit_read(i, KEYS[2 + i], 3, head.now)
  if l.kind.refused then
    l.kind.refused(l, tonumber(ARGV[2]), head.now)
    l.changed = true
  end
  limits[i + 1] = l
end
write_changed(limits, head.now)
return 'ok'
