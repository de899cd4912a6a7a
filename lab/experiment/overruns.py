# SPDX-License-Identifier: Apache-2.0
"""What of the arrivals at an origin is beyond a limit, where the machine is no excuse: pure arithmetic. Times are
nanoseconds since 1970. `late(begin, end)`: for how many nanoseconds of that stretch the machine may have held up what was
due at `begin` + HORIZON. For the programs of this folder only."""

import bisect
import typing

import readings
from readings import MS, SECOND

WORK = 10 * MS     # for which a busy process may wait for a core, as in test_limits.py
HORIZON = 50 * MS  # for which departures are booked ahead


class Limit(typing.NamedTuple):
    full: int    # departures in a window
    length: int  # of a window

    def rate(self):
        """Departures in a nanosecond."""
        return self.full / self.length


def of_windows(times, count, limit, late):
    """The windows that carry more than they may, of `count` of them. Of what a window has beyond, each departure must
    have been held up: the window before lacks it, and it came behind the edge while the machine was late. What fits into
    WORK may come then though nothing is known to be late. A limit that is too high, by as little as one, fills all
    windows, and none lacks anything."""
    warm = limit.length // 2
    first = (times[0] + warm) // limit.length + 1
    carried = readings.whole_windows(times, limit.length, count, warm)
    found = []
    for nth, (before, many) in enumerate(zip([limit.full, *carried], carried)):
        edge = (first + nth) * limit.length
        stalled = edge + late(edge - HORIZON, edge + limit.length)
        came_then = bisect.bisect_left(times, stalled) - bisect.bisect_left(times, edge) + limit.rate() * WORK
        if many - limit.full > min(came_then, max(0, limit.full - before)):
            found.append(many)
    return found


def of_stretches(times, more, limit, late):
    """How many a pacer lets leave beyond its rate, in any stretch as long as a window: each number once. `more(begin)`:
    departures that it may have beside its rate in the stretch that begins then. Only what was held up before a stretch is
    in it without being due in it; what is held up later leaves it."""
    found, least = set(), limit.full + 1
    for begin, end in zip(times, times[least:]):
        if end >= begin + limit.length:
            continue
        many = bisect.bisect_left(times, begin + limit.length) - bisect.bisect_left(times, begin)
        if many > least + more(begin) + limit.rate() * (WORK + late(begin - HORIZON, begin + WORK)):
            found.add(many)
    return sorted(found)


def of_all(times, begin, end, more, limit, late):
    """How many a pacer let leave beyond its rate, from `begin` to `end`. A rate that is too high by one in a hundred
    is in no short stretch."""
    sent = bisect.bisect_left(times, end) - bisect.bisect_left(times, begin)
    may = limit.rate() * (end - begin + WORK + late(begin - HORIZON, begin + HORIZON)) + 1 + more
    return max(0, sent - round(may))
