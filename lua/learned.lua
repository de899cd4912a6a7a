-- SPDX-License-Identifier: Apache-2.0
-- An answer told what the upstream has counted in its window that is open: what is more than ours is of strangers.
-- KEYS: head; the limit whose window that is.
-- ARGV: 1 generation · 2 when the answered request departed · 3 how many units are counted · 4 when the window ends
--   from 5 on six of the limit as in book.lua.
-- Answer: ok|stale; another generation knows nothing of that departure.
local head = head_read()
if head.gen ~= ARGV[1] then return 'stale' end

change_each(5, head.now, 'learn', head.now, tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]))
return 'ok'
