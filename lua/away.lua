-- SPDX-License-Identifier: Apache-2.0
-- The list of processes that are away. A process that reaches Redis again says since when it could not. Every other one
-- that was alive at that time may have lost Redis, too, and then goes by its part of each limit until it calls. So the
-- script keeps these parts back for three seconds at most, and tells all processes to call. It is made only while the
-- list has any process; the head says until when it counts.
-- "<upstream>:away" is "1a since among held who who …": the limits were divided among so many; held is 1 when what is
-- kept back has held up a lane, and then all are told when it no longer is kept. "<limit>:away" is "1a since till
-- left": so many units were left when the first process came back, of the period that ends then.
local kAwayFor = 3000000

local function away_part(head)
  local key, me = string.gsub(KEYS[1], 'head$', 'away'), ARGV[1]
  local since, among, held, names, is_shut, message = 0, 1, '0', {}, false, nil
  if head.away > 0 and head.away <= head.now then held = '1' end
  local text = head.away > head.now and read(key)
  if text then
    local when, count, whether, rest = string.match(text, '^1a (%d+) (%d+) ([01]) (.*)$')
    since, among, held = number(when, key), number(count, key), whether or corrupt(key)
    for who in string.gmatch(rest, '%S+') do names[#names + 1] = who end
  end

  local function place_of(who)
    for i = 1, #names do
      if names[i] == who then return i end
    end
  end

  local function keep()
    local words = string.format('1a %d %d %s %s', since, among, held, table.concat(names, ' '))
    store(key, words, head.away - head.now)
  end

  -- The processes that were alive when the caller had Redis' last answer. One seen since may have lost Redis later.
  local function find_names(last)
    local seen = redis.pcall('ZRANGE', KEYS[2], '0', '-1', 'WITHSCORES')
    if seen.err then corrupt(KEYS[2], seen) end
    for i = 1, #seen, 2 do
      local was_alive = number(seen[i + 1], KEYS[2]) > last - kAwayFor
      if was_alive and seen[i] ~= me and not place_of(seen[i]) then names[#names + 1] = seen[i] end
    end
  end

  -- The caller comes back. If it still has to hand in what it did alone (`hands_in`), it is away until then. If it had
  -- an answer since the list began, Redis was lost once more.
  local function begin(last, alive, hands_in)
    if #names == 0 or last > head.away - kAwayFor then
      find_names(last)
      if #names == 0 then return end
      since, among, message = last, math.max(alive, #names + 1), 'back'
      head.away = head.now + kAwayFor
    end
    if hands_in and not place_of(me) then names[#names + 1] = me end
    keep()
  end

  -- Redis knows all that the caller did.
  local function report()
    local place = place_of(me)
    if place then table.remove(names, place) end
    if #names > 0 then return place and keep() end
    head.away, message = 0, held == '1' and 'gathered' or nil
    redis.call('DEL', key)
  end

  -- Notes how much was left of a limit when the first process came back, and until when. What was noted of an earlier
  -- absence counts no more.
  local function note(l)
    local noted = read(l.key .. ':away')
    if noted then
      local whose, till, left = string.match(noted, '^1a (%d+) (%d+) (%-?%d+)$')
      if number(whose, l.key) == since then return number(till, l.key), number(left, l.key) end
    end
    local left, till = l.kind.left(l, since)
    if not left then left, till = l.max, 0 end
    store(l.key .. ':away', string.format('1a %d %d %d', since, till, left), head.away - head.now)
    return till, left
  end

  -- Lowers a limit by the parts of the processes that are away. If a departure of weight `w` no longer fits, none is
  -- granted until the list is void. Those granted now leave within a horizon: what was left of a period that ends before
  -- says nothing of them.
  local function keep_back(l, w)
    if not l.kind.left or #names == 0 then return end
    w = l.cost and 1 or w
    l.kept_until = head.away
    if l.kind.slow_down then
      l.is_slowed = #names < among
      return l.is_slowed and l.kind.slow_down(l, 1 - #names / among, since)
    end
    local till, left = note(l)
    local most = till > head.now + kHorizon and math.max(0, left) or l.max
    local remains = l.max - #names * math.ceil(most / among)
    l.kept, l.max, is_shut = l.max - math.max(remains, w), math.max(remains, w), is_shut or remains < w
  end

  -- Notes that a lane was told to wait, and would not have been, or not for so long, if nothing were kept back. The
  -- margin: a departure that waits for the edge of a window stays off it.
  local function note_held(a)
    local would_leave = a.now
    for _, scope in ipairs({ a.wide, a.narrow }) do
      for i = 1, #scope do
        local l = scope[i]
        if l.kept then l.max = l.max + l.kept end
        if l.index ~= -1 and not l.is_slowed then
          would_leave = math.max(would_leave, l.kind.front(l, l.cost and 1 or a.w))
        end
        if l.kept then l.max = l.max - l.kept end
      end
    end
    if held == '1' or head.away == 0 or would_leave >= a.not_before - 2 * kEdge then return end
    held = '1'
    keep()
  end

  local function shuts() return is_shut or #names >= among end

  -- How many processes there are, if all come back.
  local function count() return #names + (place_of(me) and 0 or 1) end

  -- Called when everything is written.
  local function tell_all()
    local prefix, upstream = string.match(KEYS[1], '^(.-):{(.-)}:')
    if message then tell(prefix .. ':to:all', upstream .. ' ' .. message) end
  end

  return { begin = begin, report = report, note = note, keep_back = keep_back, shuts = shuts, count = count,
           note_held = note_held, tell_all = tell_all }
end

-- Any call of a process says that it is back.
local function come_back(head, fresh, alive)
  local _, _, last, mark = begin_part().parts_of(fresh)
  if head.away == 0 and mark == '' then return end
  local away = away_part(head)
  if mark ~= '' then away.begin(last, alive, mark == '+') end
  if mark ~= '+' and head.away > 0 then away.report() end
  return away
end
