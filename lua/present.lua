-- SPDX-License-Identifier: Apache-2.0
-- Says each second that a process is there, whichever upstreams it uses, and answers how many there are; not needed
-- where an ask says it along (see book.lua). Limits are divided by that number while Redis is away, where no upstream
-- has told a better one.
-- KEYS: processes.   ARGV: 1 the caller
-- Answer: how many.
return touch(KEYS[1], ARGV[1], clock_time())
