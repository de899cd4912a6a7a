-- SPDX-License-Identifier: Apache-2.0
-- Tells the line, how much waits in each process, and how the limits of the whole upstream stand, for a forecast. Books
-- nothing. A process that looks has the other processes of the line told of it; each of them reports how much waits
-- there, and the one that looks reads that a little later.
-- KEYS: head; what processes report; then, to tell or read, one for each limit of the upstream, without semaphores.
-- ARGV: 1 the caller · 2 report, tell or read. To report: 3 the units that wait there · 4 how many more come
--   in 1000 seconds · 5 when it asks next, 0: that is not known. To tell or read: 3 how channels begin:
--   "<prefix>:to:" · 4 upstream · 5 the hash of the caller's limits; from 6 on six for each limit, as for book.lua
-- Answer: of a report ok. Otherwise 1 now · 2 how many processes were told, 0: there is nothing more to read
--   3 of each process in the line, senior first, eight: 1 the caller, 0 another; 1 it has other limits; had, wants and
--   at, as in line.lua; how many units wait there; how many more come in 1000 seconds; when it asks next, 0: that is
--   not known
--   4 of each limit whose state is a few numbers three: its number, and two as in part 12 of book.lua's answer
--   5 of each limit that is a list three: its number; the times of its last departures, ascending; and what strangers
--     have taken, as units, from and until in sliding_window.lua, or nothing
local kMostTimes = 10000
local kFresh = 50000  -- microseconds; what was reported for an earlier look counts no more
local me, what, reports = ARGV[1], ARGV[2], KEYS[2]

local function checked(answer)
  if type(answer) == 'table' and answer.err then corrupt(reports, answer) end
  return answer
end

local head, line = head_read(), line_part()
local now = head.now

if what == 'report' then
  checked(redis.pcall('ZADD', reports, ARGV[3], me))
  redis.call('ZADD', reports, ARGV[4], me .. '/comes')
  redis.call('ZADD', reports, ARGV[5], me .. '/asks')
  redis.call('ZADD', reports, now, me .. '/now')
  redis.call('PEXPIRE', reports, 1000)
  return 'ok'
end

local reported, seen = {}, checked(redis.pcall('ZRANGE', reports, '0', '-1', 'WITHSCORES'))
for i = 1, #seen, 2 do reported[seen[i]] = number(seen[i + 1], reports) end

local told, processes, all = 0, {}, line.parse(head.line or '', KEYS[1], now)
for i = 1, #all do
  local one = all[i]
  local is_own, n = one.who == me, #processes
  processes[n + 1], processes[n + 2] = is_own and 1 or 0, one.hash == ARGV[5] and 0 or 1
  processes[n + 3], processes[n + 4], processes[n + 5] = one.had, one.wants, one.at
  local has_reported = one.wants > 0 and (reported[one.who .. '/now'] or 0) + kFresh >= now
  processes[n + 6] = has_reported and reported[one.who] or one.wants
  processes[n + 7] = has_reported and reported[one.who .. '/comes'] or 0
  processes[n + 8] = has_reported and reported[one.who .. '/asks'] or 0
  if what == 'tell' and not is_own and one.wants > 0 then
    tell(ARGV[3] .. one.who, ARGV[4] .. ' ahead')
    told = told + 1
  end
end

local stands, lists = {}, {}
for i = 0, told == 0 and #KEYS - 3 or -1 do
  local l = limit_read(i, KEYS[3 + i], 6, now)
  if l.kind.stands then
    local since, units = l.kind.stands(l)
    if since then stands[#stands + 1], stands[#stands + 2], stands[#stands + 3] = i, since, units end
  elseif l.kind.is_list and l.stored and l.max <= kMostTimes then
    local times = l.stored == 0 and {} or redis.call('LRANGE', l.key, math.max(1, l.stored - l.max + 1), -1)
    for n = 1, #times do times[n] = number(times[n], l.key) end
    local theirs = l.foreign and { l.foreign.units, l.foreign.from, l.foreign.till } or {}
    lists[#lists + 1], lists[#lists + 2], lists[#lists + 3] = i, times, theirs
  end
end
return { now, told, processes, stands, lists }
