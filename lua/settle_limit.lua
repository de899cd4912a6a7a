-- SPDX-License-Identifier: Apache-2.0
-- See settle() of flow/limit.h. Kinds without a rule of their own take back what they can as of a departure that was not
-- used.
local function settle_limit(l, departed, now, taken, cost)
  local kind = l.kind
  if kind.settle then return kind.settle(l, departed, now, taken, cost) end
  if cost > taken then kind.commit(l, now, cost - taken) else kind.undo(l, departed, taken - cost) end
end
