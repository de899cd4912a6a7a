-- SPDX-License-Identifier: Apache-2.0
-- What every script begins with: constants, reading, and what becomes of a value that is not ours. Times are microseconds
-- since 2025-01-01 UTC, with fractions inside; a departure that is told to a process is whole.
-- Scripts run from top to bottom on every call: a function costs something each time that it is made, most of all for what
-- it uses of the functions around it. So libraries are used by their global names, and what is rarely needed is made late.
local kHorizon = 50000     -- only departures this near are committed
local kEdge = 1000         -- windows and counters stay this far from their edges
local kNoise = 0.001       -- of doubles: a time is no later than another by less
local kLongest = 1e16      -- no time and no level of ours is beyond: such a value would never be free again
local kNever = math.huge

-- Ends the script before anything was written. A value that would stay for ever is given a minute, so that a foreign one
-- does not hold the upstream for good.
local function corrupt(key)
  if redis.call('PTTL', key) == -1 then redis.call('PEXPIRE', key, 60000) end
  error({ err = 'CORRUPT ' .. key })
end

local function read(key)
  local text = redis.pcall('GET', key)
  if type(text) == 'table' then corrupt(key) end
  return text
end

local function number(digits, key)
  local value = tonumber(digits)
  if not value or not (value < kLongest and value > -kLongest) then corrupt(key) end
  return value
end

-- Departures that leave the algebra are rounded up.
local function whole(t) return math.ceil(t - kNoise) end
