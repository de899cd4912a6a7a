-- SPDX-License-Identifier: Apache-2.0
-- The limits of a call, read from its arguments and keys, and what several of them decide together. A *scope* is a list
-- of limits: the latest of their frontiers counts, the first in the file of those that are equal is to blame.
local kArguments = 6       -- of each limit: kind, scope u|g, mode d|r, three numbers

-- What makes each kind; once it is made, the kind.
local kinds = { pacer = pacer, window = window, slidingWindow = sliding_window, tokenBucket = token_bucket,
                counter = counter, semaphore = semaphore }

local function kind_of(name)
  local kind = kinds[name]
  if not kind then error({ err = 'ERR there is no limit of the kind ' .. name }) end
  if type(kind) == 'function' then
    kind = kind()
    kinds[name] = kind
  end
  return kind
end

-- The n-th limit, from 0: its arguments begin at ARGV[first + 6n].
local function limit_read(n, key, first, now)
  local a = first + n * kArguments
  local kind = kind_of(ARGV[a])
  local l = { kind = kind, key = key, index = n, rank = n, letter = ARGV[a + 1], refuses = ARGV[a + 2] == 'r' }
  local text = not kind.is_list and read(key)
  kind.read(l, text, now, tonumber(ARGV[a + 3]), tonumber(ARGV[a + 4]),
            tonumber(ARGV[a + 5]) or ARGV[a + 5])
  return l
end

-- The first moment from t on at which the whole scope allows this weight, and the limit that is to blame if it is
-- later; `by` is to blame for t itself.
local function earliest(scope, t, w, by)
  for i = 1, #scope do
    local l = scope[i]
    local front = l.kind.front(l, w)
    if front > t or by and front == t and l.rank < by.rank then t, by = front, l end
  end
  return t, by
end

-- The first moment from t on that is not too near an edge of any window, and the one that moved it last.
local function off_edges(windows, t, by)
  for _ = 1, 8 do
    local before = t
    for i = 1, #windows do
      local off = windows[i].kind.off_edge(windows[i], t)
      if off > t then t, by = off, windows[i] end
    end
    if t == before then break end
  end
  return t, by
end

-- An estimate: when the scope allows this weight once `units` others have gone, and the limit that is to blame: one
-- that waits for a reset before all others.
local function ahead_of(scope, now, units, w, by)
  local t, unreset = now, nil
  for i = 1, #scope do
    local l = scope[i]
    local front = l.kind.front(l, w)
    if front == kNever then
      unreset = unreset or l
      front = l.kind.ahead(l, now, units + w - 1)
    elseif units > 0 then
      front = math.max(front, l.kind.ahead(l, now, units))
    end
    if front > t then t, by = front, l end
  end
  return t, unreset or by
end

local function commit(scope, t, w)
  for i = 1, #scope do
    local l = scope[i]
    l.kind.commit(l, t, w)
    l.changed = true
  end
end

local function write_changed(scope, now)
  for i = 1, #scope do
    local l = scope[i]
    if l.changed and l.kind.write then l.kind.write(l, now) end
  end
end
