-- SPDX-License-Identifier: Apache-2.0
-- The clock of production: what Redis' TIME shows. head.lua sees to it that it never goes back. The tests have another.
local function clock_time()
  local time = call('TIME')
  return (time[1] - 1735689600) * 1000000 + time[2]
end

-- How many milliseconds a value stays that may be forgotten after so many microseconds: a second more does no harm.
local function milliseconds(lifetime) return max(0, ceil(lifetime / 1000)) + 1000 end
