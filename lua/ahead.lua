-- SPDX-License-Identifier: Apache-2.0
-- Tells how much waits in each process, and how the limits of the whole upstream stand, for a forecast. Books nothing.
-- A process that looks has the other processes of the line told of it; each of them reports how much waits there, and
-- the one that looks reads that a little later.
-- KEYS: head; what processes report; then, to tell or read, one for each limit of the upstream, without semaphores.
-- ARGV: 1 the caller · 2 report, tell or read. To report: 3 the units that wait there · 4 how many came in the last
--   second. To tell or read: 3 how channels begin: "<prefix>:to:" · 4 upstream · 5 the hash of the caller's limits; from
--   6 on six for each limit, as for book.lua
-- Answer: of a report ok. Otherwise 1 now · 2 how many processes were told, 0: there is nothing more to read
--   3 of each other process that waits, in the order of the line, three: how many units less than the caller it has had,
--   how many wait there, and how many came in the last second · 4 how many of these are before the caller in the line
--   5 of each limit whose state is a few numbers three: its number, and two as in part 12 of book.lua's answer
--   6 of each limit that is a list two: its number, and the times of its last departures, ascending
local kMostTimes = 10000
local me, what, reports = ARGV[1], ARGV[2], KEYS[2]

local function checked(answer)
  if type(answer) == 'table' and answer.err then corrupt(reports, answer) end
  return answer
end

if what == 'report' then
  checked(redis.pcall('ZADD', reports, ARGV[3], me))
  redis.call('ZADD', reports, ARGV[4], me .. '/came')
  redis.call('PEXPIRE', reports, 1000)
  return 'ok'
end

local head, line = head_read(), line_part()
local now = head.now
local a = { me = me, w = 1, now = now, wide = {}, line = line.parse(head.line or '', KEYS[1], now), hash = ARGV[5] }
for i = 0, #KEYS - 3 do a.wide[i + 1] = limit_read(i, KEYS[3 + i], 6, now) end
level_part(line).enter(a)

local reported, seen = {}, checked(redis.pcall('ZRANGE', reports, '0', '-1', 'WITHSCORES'))
for i = 1, #seen, 2 do reported[seen[i]] = number(seen[i + 1], reports) end

-- Of a process with other limits no more is counted than it counts for in the line.
local told, others, before = 0, {}, nil
for i = 1, #a.line do
  local one = a.line[i]
  if one == a.mine then
    before = #others / 3
  elseif one.wants > 0 then
    local units = reported[one.who] or one.wants
    others[#others + 1] = a.mine.had - one.had
    others[#others + 1] = one.hash == a.hash and units or math.min(units, one.most or units)
    others[#others + 1] = reported[one.who .. '/came'] or 0
    if what == 'tell' then
      tell(ARGV[3] .. one.who, ARGV[4] .. ' ahead')
      told = told + 1
    end
  end
end

local stands, lists = {}, {}
for i = 1, told == 0 and #a.wide or 0 do
  local l = a.wide[i]
  if l.kind.stands then
    local since, units = l.kind.stands(l)
    if since then stands[#stands + 1], stands[#stands + 2], stands[#stands + 3] = l.index, since, units end
  elseif l.kind.is_list and l.stored and l.max <= kMostTimes then
    local times = l.stored == 0 and {} or redis.call('LRANGE', l.key, math.max(1, l.stored - l.max + 1), -1)
    for n = 1, #times do times[n] = number(times[n], l.key) end
    lists[#lists + 1], lists[#lists + 2] = l.index, times
  end
end
return { now, told, others, before or #others / 3, stands, lists }
