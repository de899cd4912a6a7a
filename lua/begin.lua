-- SPDX-License-Identifier: Apache-2.0
-- Begins the generation of an upstream without a head: the upstream is new, or Redis has forgotten it. Only in scripts
-- that begin a generation. "<prefix>:born" says since when this server has forgotten nothing: "1m id since", for ever;
-- id is the server's, and since a moment, or 0 if the server was unused before. In a cluster, where ids begin with "c-",
-- no node has such a record: keys come and go with their slots.
local function begin_part()
  local kGoneAfter = 3000000 -- see presence.lua

  -- A record of another server, or none, means that things may have been forgotten just now. `from_the_start`: the
  -- caller knows that nothing was. A server that tells no id is never trusted, nor is a foreign value.
  local function remembers_since(key, id, now, from_the_start)
    if id == '' or string.find(id, '^c%-') then return now end
    local text = redis.pcall('GET', key)
    if type(text) == 'table' then return now end
    local whose, digits = string.match(text or '', '^1m (%S+) (%d+)$')
    if text and not whose then return now end
    local since = from_the_start and not text and 0 or now
    if whose == id then since = math.min(number(digits, key), now) end
    if whose ~= id or since < tonumber(digits) then redis.call('SET', key, string.format('1m %s %d', id, since)) end
    return since
  end

  -- The parts of `fresh`: the name of a fresh generation; the server's id; on a new connection the latest time that the
  -- caller was told; and a mark, if it went by its part of each limit meanwhile: s, or + if it has yet to hand in what
  -- it let leave.
  local function parts_of(fresh)
    local name, id, told, mark = string.match(fresh, '^([^@]*)@?([^@]*)@?(%d*)([s+]?)$')
    return name, id, tonumber(told) or 0, mark
  end

  -- Processes that use the upstream know a generation of it, and must hand in first, as many as are alive. Numbers of
  -- generations rise: they are the milliseconds of their birth. No time is told that is before one told earlier.
  local function begin(fresh, alive, known, time)
    local key = KEYS[1]
    local name, id, told = parts_of(fresh)
    local now = math.max(time, told)
    local others = redis.pcall('ZCOUNT', string.gsub(key, 'head$', 'alive'), now - kGoneAfter, '+inf')
    local since = remembers_since(string.match(key, '^(.-):{') .. ':born', id, now)
    local awaited = math.max(alive > 1 and alive or 0, type(others) == 'number' and others or 0)
    if known ~= '' and awaited == 1 then awaited = 0 end
    local is_forgotten = known ~= '' or awaited > 0
    local last = tonumber(string.match(known, '^%d+') or 0)
    generation_number = string.format('%d', math.max(math.floor(now / 1000), last + 1))
    return { gen = generation_number .. '-' .. name, id = id == '' and '-' or id, seen = now, now = now,
             lead = now - time, birth = is_forgotten and now or since, ends = 0, awaited = awaited, paused = 0,
             away = 0, handed = '', line = '', is_new = true, is_here = true }
  end

  return { begin = begin, parts_of = parts_of, remembers_since = remembers_since }
end
