-- SPDX-License-Identifier: Apache-2.0
-- The head of an upstream: its clock, which never goes back; its generation, which tells a Redis that lost its memory; and
-- the turns of those who wait for the limits of the whole upstream.
-- State "1 gen birth seen last awaited handed turns…": seen is the latest time told, last what TIME showed then; a
-- generation is closed while fewer than `awaited` processes stand in `handed` ("-": none), at most for a second.
local kClosedFor, kRememberedFor = 1000000, 10000000

-- `fresh` names the generation that begins if there is no head; as many as were `alive` shall hand in first.
local function head_read(key, fresh, alive)
  local time, text = clock_time(), read(key)
  if not text then
    return { key = key, gen = fresh, birth = time, now = time, time = time, awaited = alive > 1 and alive or 0,
             handed = '-', turns = {}, new = true }
  end
  local gen, birth, seen, last, awaited, handed, turns = match(text, '^1 (%S+) (%d+) (%d+) (%d+) (%d+) (%S+)(.*)$')
  if not gen then corrupt(key) end
  birth, seen, last = number(birth, key), number(seen, key), number(last, key)
  local now = max(time, seen + max(0, time - last))
  return { key = key, gen = gen, birth = birth, now = now, time = time, awaited = number(awaited, key), handed = handed,
           turns = turns == '' and {} or turns_parse(turns, key, now) }
end

local function head_write(head)
  local turns = head.turns
  if head.handed ~= '-' and head.now > head.birth + kRememberedFor then head.handed = '-' end
  call('SET', head.key, format('1 %s %d %d %d %d %s%s', head.gen, head.birth, head.now, head.time, head.awaited, head.handed,
                                #turns == 0 and '' or turns_text(turns)), 'PX', '86400000')
end

local function head_closed(head)
  if head.awaited == 0 then return false end
  local _, count = string.gsub(head.handed, '[^,]+', '')
  if head.handed == '-' then count = 0 end
  if count < head.awaited and head.now < head.birth + kClosedFor then return true end
  head.awaited = 0
  return false
end

local function head_knows(head, who)
  return string.find(',' .. head.handed .. ',', ',' .. who .. ',', 1, true) ~= nil
end
