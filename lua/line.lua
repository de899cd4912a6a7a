-- SPDX-License-Identifier: Apache-2.0
-- The line: the processes that want more departures of a scope than its limits allow at once, senior first, each as
-- "who/had/wants/at/hash". `had` are the units that it was granted since it began to want, less the least of those that
-- want; `wants` are the units that could leave now if these limits let them; `at` is when it was told to expect its
-- next departure; `hash` is that of its limits. The line books nothing. The upstream's line is in its head; that of a
-- group or a route has a key while it is not empty: "2l" and the line. Created only when a process waits.
local function line_part()
  local kClaims, kRemembered = 5000, 1000000   -- microseconds after `at`

  local function parse(text, key, now)
    local all = {}
    for word in string.gmatch(text, '%S+') do
      local who, had, wants, at, hash = string.match(word, '^([^/]+)/(%d+)/(%d+)/(%d+)/(%x+)$')
      if not who then corrupt(key) end
      local one = { who = who, had = number(had, key), wants = number(wants, key), at = number(at, key), hash = hash }
      if one.at + kRemembered >= now then all[#all + 1] = one end
    end
    return all
  end

  local function text_of(all)
    local words = {}
    for i = 1, #all do
      local one = all[i]
      words[i] = string.format(' %s/%d/%d/%d/%s', one.who, one.had, one.wants, one.at, one.hash)
    end
    return table.concat(words)
  end

  local function find(all, who)
    for i = 1, #all do
      if all[i].who == who then return all[i], i end
    end
  end

  local function drop(all, who)
    local one, place = find(all, who)
    if one then table.remove(all, place) end
    return one, place
  end

  -- A process that did not come when it was told to has no claim until it asks.
  local function claims(one, now) return one.wants > 0 and one.at + kClaims >= now end

  local function somebody_wants(all)
    for i = 1, #all do
      if all[i].wants > 0 then return true end
    end
  end

  -- Units that the processes before `who` want; those of the whole line if `who` is not in it.
  local function units_before(all, who, now)
    local units = 0
    for i = 1, #all do
      if all[i].who == who then break end
      if claims(all[i], now) then units = units + all[i].wants end
    end
    return units
  end

  -- How many processes are known to use the scope: those in the line, and `who` itself.
  local function processes(all, who) return #all + (find(all, who) and 0 or 1) end

  local function parse_narrow(text, key, now)
    local rest = string.match(text, '^2l(.*)$')
    if not rest then corrupt(key) end
    return parse(rest, key, now)
  end

  local function write_narrow(all, key, now)
    local last = now
    for i = 1, #all do last = math.max(last, all[i].at) end
    if #all == 0 then return redis.call('DEL', key) end
    -- Not by store(): the head need not outlive a line, which says nothing of what was spent, and a departure may be
    -- expected in many years.
    redis.call('SET', key, '2l' .. text_of(all), 'PX', milliseconds(last + kRemembered - now))
  end

  return { parse = parse, text_of = text_of, find = find, drop = drop, claims = claims, units_before = units_before,
           somebody_wants = somebody_wants, processes = processes, parse_narrow = parse_narrow,
           write_narrow = write_narrow }
end
