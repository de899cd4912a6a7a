-- SPDX-License-Identifier: Apache-2.0
-- Tells how limits stand, for people. Books nothing and begins no generation: who only looks is no user of the upstream.
-- KEYS: head; then one for each limit.
-- ARGV: six for each limit, as for book.lua; a semaphore is told "0:0:0:0:0:0:0".
-- Answer: now; and of each limit three numbers: until when and how many units are left, as in flow::Remaining, 0: nothing
--   has left that counts in it; of a semaphore now, and how many permits no process holds; and from when on one more unit
--   may leave, 0: at any time, -1: time alone does not open it.
local head = head_read()
local now, answer = head.now, { head.now }
for i = 0, #KEYS - 2 do
  local l = limit_read(i, KEYS[2 + i], 1, now)
  local units, till, opens = 0, 0, 0
  if l.kind.take then
    units, till = math.max(0, l.capacity - l.held), now
    opens = units > 0 and 0 or -1
  elseif l.kind.left then
    local front = l.kind.front(l, 1)
    units, till = l.kind.left(l, now)
    opens = front == kNever and -1 or math.max(0, math.ceil(front))
  end
  answer[#answer + 1] = units and math.ceil(till) or 0
  answer[#answer + 1] = units and math.floor(units) or 0
  answer[#answer + 1] = opens
end
return answer
