-- SPDX-License-Identifier: Apache-2.0
-- Each process hears one channel of its own. Answers how many heard.
local function tell(channel, who, message) return call('PUBLISH', channel .. who, message) end

-- Tells those who wait for a turn to ask again, each on the channel of its own process: "<upstream> turns [<group hash>]".
-- A message that is lost costs a departure, no more: the turn says when to ask anyway.
local function tell_waiting(turns, first, channel, upstream, group)
  local message = upstream .. ' turns' .. (group ~= '' and ' ' .. group or '')
  for i = first, #turns do tell(channel, turns[i].who, message) end
end
