-- SPDX-License-Identifier: Apache-2.0
-- The upstream refused a request: limits that learn from this lower their rates, once for all refusals of requests that
-- had left before.
-- KEYS: head; then one for each limit.
-- ARGV: 1 generation · 2 when the refused request departed · from 3 on six for each limit as in book.lua.
-- Answer: ok|stale; another generation knows nothing of that departure.
local head = head_read()
if head.gen ~= ARGV[1] then return 'stale' end

change_each(3, head.now, 'refused', tonumber(ARGV[2]), head.now)
return 'ok'
