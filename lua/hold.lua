-- SPDX-License-Identifier: Apache-2.0
-- The hold: a pause that an upstream asked for, learned and not configured. State "1h until". Nobody commits anything.
local hold = {
  parse = function(l, text)
    local till = match(text, '^1h (%d+)$')
    l.till = number(till, l.key)
  end,
  front = function(l) return l.till end,
  ahead = function(l, now) return max(now, l.till) end,
  commit = function() end,
}

-- Appends the hold that stands under a key to a scope, if there is one.
local function add_hold(scope, key, letter)
  local text = read(key)
  if not text then return end
  local l = { kind = hold, key = key, index = -2, rank = huge, letter = letter }
  hold.parse(l, text)
  scope[#scope + 1] = l
end
