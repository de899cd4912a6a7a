-- SPDX-License-Identifier: Apache-2.0
-- The clock of the tests: the last argument of a call, in microseconds since 2025. Values stay a thousand times
-- longer than in production, so that they do not go while a test's own time stands still; a test can read from it how
-- long they would.
local function clock_time() return tonumber(ARGV[#ARGV]) end
local function milliseconds(lifetime) return 1000 * (math.max(0, math.ceil(lifetime / 1000)) + 1000) end
