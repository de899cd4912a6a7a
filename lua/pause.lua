-- SPDX-License-Identifier: Apache-2.0
-- Nobody leaves for so long: the upstream, or a group of it, asked for a pause. A shorter pause does not end a longer one.
-- KEYS: head, hold.   ARGV: 1 microseconds from now.   Answer: until when.
local head = head_read(KEYS[1], '', 0)
local text = read(KEYS[2])
local l = { key = KEYS[2], till = 0 }
if text then hold.parse(l, text) end
local till = max(l.till, head.now + tonumber(ARGV[1]))
store(KEYS[2], format('1h %d', till), till - head.now)
return till
