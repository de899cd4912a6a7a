-- SPDX-License-Identifier: Apache-2.0
-- The head of an upstream: its clock, which never goes back; its generation, which tells of a Redis that lost its
-- memory; and the turns of those who wait for the limits of the whole upstream.
-- State "1 gen seen lead birth awaited handed turns…": seen is the latest time told, lead how far TIME was behind it,
-- because it had been set back. A generation is closed while fewer than `awaited` processes stand in `handed` ("-":
-- none), at most for a second after its birth, which is forgotten a day later (0).
local kClosedFor, kHandedInFor, kYoungFor = 1000000, 10000000, 86400000000

-- It is KEYS[1] of every script. `fresh` names the generation that begins if there is no head; as many as were `alive` shall hand in first.
local function head_read(fresh, alive)
  local key = KEYS[1]
  local time, text = clock_time(), read(key)
  if not text then
    return { gen = fresh, now = time, lead = 0, birth = time, awaited = alive > 1 and alive or 0,
             handed = '-', turns = '', is_new = true }
  end
  local gen, seen, lead, birth, awaited, handed, turns =
    string.match(text, '^1 (%S+) (%d+) (%d+) (%d+) (%d+) (%S+)(.*)$')
  seen = number(seen, key)
  local now = math.max(time, seen, lead ~= '0' and time + number(lead, key) or 0)
  return { gen = gen, now = now, lead = now - time, birth = birth == '0' and 0 or number(birth, key),
           awaited = awaited == '0' and 0 or number(awaited, key), handed = handed, turns = turns }
end

-- A day is longer than any silence of those who use it.
local function head_write(head)
  if head.birth > 0 then
    if head.now > head.birth + kHandedInFor then head.handed = '-' end
    if head.now > head.birth + kYoungFor then head.birth = 0 end
  end
  redis.call('SET', KEYS[1], string.format('1 %s %d %d %d %d %s%s', head.gen, head.now, head.lead, head.birth,
                                           head.awaited, head.handed, head.turns), 'PX', '86400000')
end

local function head_closed(head)
  if head.awaited == 0 then return false end
  local count = 0
  for _ in string.gmatch(head.handed, '[^,-][^,]*') do count = count + 1 end
  if count < head.awaited and head.now < head.birth + kClosedFor then return true end
  head.awaited = 0
  return false
end
