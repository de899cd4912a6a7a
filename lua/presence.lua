-- SPDX-License-Identifier: Apache-2.0
-- Which processes use an upstream: a ZSET of who was seen when. Whoever was not for three seconds has gone.
local kGoneAfter = 3000000

local function touch(key, who, now)
  call('ZADD', key, now, who)
  call('ZREMRANGEBYSCORE', key, '-inf', now - kGoneAfter)
  expire(key, kGoneAfter)
  return call('ZCARD', key)
end
