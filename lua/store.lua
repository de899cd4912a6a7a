-- SPDX-License-Identifier: Apache-2.0
-- Writing: nothing is stored without a time to live, which comes from the state itself: forgetting it then changes nothing.
local function store(key, text, lifetime) redis.call('SET', key, text, 'PX', milliseconds(lifetime)) end
