-- SPDX-License-Identifier: Apache-2.0
-- Nobody leaves for so long: the upstream, or a group of it, asked for a pause. A shorter pause does not end a longer one.
-- KEYS: head, hold.   ARGV: 1 microseconds from now.   Answer: until when.
local head = head_read('', 0)
local text = read(KEYS[2])
local till = math.max(text and hold_until(text, KEYS[2]) or 0, head.now + tonumber(ARGV[1]))
store(KEYS[2], string.format('1h %d', till), till - head.now)
return till
