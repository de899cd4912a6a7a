-- SPDX-License-Identifier: Apache-2.0
-- Renews a process's lease on one semaphore, takes back the permits that it returns, hears what it still waits for, and
-- hands over what is free. A process calls it often enough while it holds or waits, and when it has returned some.
-- KEYS: head, the semaphore.
-- ARGV: 1 me · 2 a fresh generation's name · 3 processes alive, as far as I know · then as in book.lua: kind, scope, mode,
--   capacity, lease, "returned:claimed:spare:others"
-- Answer: 1 now · 2 permits granted to me in total · 3 of those that I claimed, how many are lost
local head = head_read(KEYS[1], ARGV[2], tonumber(ARGV[3]))
local l = limit_read(0, 2, 4, head.now, {})
l.kind.enter(l, head.birth)
local granted = l.kind.take(l, 0, 0)
head_write(head)
return { head.now, granted, l.lost }
