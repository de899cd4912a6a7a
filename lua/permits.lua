-- SPDX-License-Identifier: Apache-2.0
-- Renews a process's lease on one semaphore, takes back the permits that it returns, hears what it still waits for, and
-- hands over what is free. A process calls it often enough while it holds or waits, and when it has returned some.
-- KEYS: head, the semaphore.
-- ARGV: 1 me · 2 a fresh generation's name · 3 processes alive, as far as I know · 4 capacity · 5 lease ·
--   6 "returned:claimed:spare:others"
-- Answer: 1 now · 2 permits granted to me in total · 3 of those that I claimed, how many are lost · 4 nothing new is granted
--   before this moment, 0: that is over
local head = head_read(ARGV[2], tonumber(ARGV[3]))
local kind, l = semaphore(), { key = KEYS[2] }
kind.read(l, read(l.key), head.now, tonumber(ARGV[4]), tonumber(ARGV[5]), ARGV[6])
kind.enter(l, head.birth)
local granted = kind.take(l, 0, 0)
head_write(head)
return { head.now, granted, l.lost, l.open and 0 or math.ceil(head.birth + l.lease / 2) }
