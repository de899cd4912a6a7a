-- SPDX-License-Identifier: Apache-2.0
-- Says each second that a process is there, whichever upstreams it uses, and hears how many are. By that many limits are
-- divided while Redis is away, where no upstream has told a better number.
-- KEYS: processes.   ARGV: 1 me
-- Answer: how many.
return touch(KEYS[1], ARGV[1], clock_time())
