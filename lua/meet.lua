-- SPDX-License-Identifier: Apache-2.0
-- Finds out whether the head is old after the server changed. The head has the id of the server that keeps it. A call
-- over a connection to another id says that Redis was restarted, or a replica came in its place: with all that it knew,
-- or with what it knew a while ago. A process that reaches the server again therefore says the latest time that it was told, and
-- the head is old if that is later than the latest in it: then a generation begins, as after lost memory. Until all
-- processes that are alive have said it, for a second at most, nothing is granted; if none was told a later time, the
-- head takes the new id, and nothing else happens. Only in scripts that begin a generation. "<head>:met" has for a day:
-- "1 id found since awaited changes names": found is the latest time in the head, since is when the meeting began,
-- awaited counts the processes that must speak, names are those that did, and changes is how often the id has changed
-- in quick succession.
local kChangesWithin = 10000000

-- Created only where the head does not say that it is the server's own (`is_here`).
local function meet_part()
  -- Whether a call comes over a connection to a server that the head does not know yet.
  local function is_elsewhere(head, fresh)
    local _, id = begin_part().parts_of(fresh)
    return id ~= '' and id ~= head.id and head.id ~= '-' and head.id ~= '*'
  end

  -- A server without an id, or whose id changes with each connection, is met only by a process that says what it was
  -- told.
  local function is_met(head, fresh)
    local first = string.find(fresh, '@', 1, true)
    return first and (head.id ~= '*' or string.find(fresh, '@', first + 1, true))
  end

  -- If states are older than what is known of them, the new generation's name says from when on they lack something.
  local function begin_anew(head, fresh, alive, known, latest, found)
    local now = math.max(head.now, latest)
    local anew = begin_part().begin(fresh, alive, known ~= '' and known or head.gen, now)
    anew.gen, anew.lead, anew.ends = anew.gen .. '~' .. string.format('%d', found), now - (head.now - head.lead), head.ends
    anew.paused = head.paused
    return anew
  end

  -- Returns the head to go by, whether it is still undecided that it is old, and when that is decided at the latest.
  local function meet(head, fresh, alive, known)
    if not is_met(head, fresh) then return head end
    local me, key = ARGV[1], KEYS[1] .. ':met'
    local _, id, latest = begin_part().parts_of(fresh)
    local text = read(key)
    local whose, found, since, awaited, changes, names =
      string.match(text or '1 - 0 0 0 0 -', '^1 (%S+) (%d+) (%d+) (%d+) (%d+) (%S+)$')
    found, since = number(found, key), number(since, key)
    awaited, changes = number(awaited, key), number(changes, key)
    local function keep()
      local words = string.format('1 %s %d %d %d %d %s', id == '' and whose or id, found, since, awaited, changes, names)
      redis.call('SET', key, words, 'PX', '86400000')
    end
    local function anew(lacks_since)
      if since > 0 then
        found = since  -- a process that comes later meets the new generation
        keep()
      end
      return begin_anew(head, fresh, alive, known, latest, lacks_since)
    end

    -- A head of a later generation than the caller's has heard of that one, or will: only its clock may have to
    -- advance. A head of an earlier generation is older than what the caller knows.
    local behind = (tonumber(string.match(known, '^%d+') or 0)) - tonumber(generation_number)
    if behind < 0 and latest > head.now then
      head.lead, head.now, head.is_moved = head.lead + latest - head.now, latest, true
    end
    if behind < 0 then latest = 0 end
    if behind > 0 then return anew(whose == id and found > 0 and math.min(found, head.seen) or head.seen) end
    if head.id == '-' and id ~= '' then head.id = id end
    if not is_elsewhere(head, fresh) then
      if latest > head.seen then return anew(head.seen) end
      if latest > found and latest <= since then return anew(found) end
      return head
    end
    if whose ~= id then
      changes = head.now - since < kChangesWithin and changes + 1 or 1
      found, since, awaited, names = head.seen, head.now, 0, '-'
    end
    if latest > found then return anew(found) end
    if latest > 0 and not string.find(',' .. names .. ',', ',' .. me .. ',', 1, true) then
      names, awaited = names == '-' and me or names .. ',' .. me, math.max(awaited, alive)
    end
    local _, count = string.gsub(names, '[^,-][^,]*', '')
    local decided = awaited > 0 and count >= awaited or head.now >= since + kClosedFor
    keep()
    if decided or changes > 2 then head.id = changes > 2 and '*' or id end
    return head, not decided and changes <= 2, since + kClosedFor
  end

  return { is_elsewhere = is_elsewhere, meet = meet }
end
