-- SPDX-License-Identifier: Apache-2.0
-- Changes the limits of a call by a function of their kinds, and writes those that have one. Their arguments begin at
-- ARGV[first].
local function change_each(first, now, name, ...)
  local limits = {}
  for i = 0, #KEYS - 2 do
    local l = limit_read(i, KEYS[2 + i], first, now)
    local change = l.kind[name]
    if change then
      change(l, ...)
      l.changed = true
    end
    limits[i + 1] = l
  end
  write_changed(limits, now)
end
