# SPDX-License-Identifier: Apache-2.0
"""Measurements of the arrivals at the origin: pure arithmetic over their times, in nanoseconds since 1970. Judges
nothing. For the programs of this folder only."""

import bisect
import collections
import typing

MS = 1_000_000
SECOND = 1000 * MS


class Arrival(typing.NamedTuple):
    at: int
    process: int
    group: int
    ended: int = 0  # 0: not yet


def parsed(lines):
    """Arrivals from the lines of experiment_origin, which are ascending."""
    return [Arrival(*map(int, line.split())) for line in lines.splitlines()]


def from_the_first(arrivals, length):
    """The arrivals of the half-open stretch that begins with the first arrival."""
    return [arrival for arrival in arrivals if arrival.at < arrivals[0].at + length]


def fullest(times, length):
    """The most arrivals in any half-open stretch of this length; some fullest stretch begins with an arrival."""
    return max((bisect.bisect_left(times, begin + length) - at for at, begin in enumerate(times)), default=0)


def whole_windows(times, length, count, warm=0):
    """Arrivals in each of `count` windows aligned to 1970, from the first that began more than `warm` after the first
    arrival."""
    first = (times[0] + warm) // length + 1
    seen = collections.Counter(at // length for at in times)
    return [seen[first + at] for at in range(count)]


def bursts(times, silence):
    """The bursts between silences: the time of the first arrival of each, and the number of arrivals."""
    found = []
    for at, before in zip(times, [times[0] - silence, *times]):
        if at - before >= silence:
            found.append([at, 0])
        found[-1][1] += 1
    return [tuple(burst) for burst in found]


def gaps(times):
    return sorted(after - before for before, after in zip(times, times[1:]))


def quantile(ascending, share):
    return ascending[min(int(share * len(ascending)), len(ascending) - 1)]


def shares(arrivals, processes):
    counts = collections.Counter(arrival.process for arrival in arrivals)
    return [counts[process] for process in range(processes)]


def groups(arrivals, count):
    """Arrivals of each of the groups 1 to `count`."""
    counts = collections.Counter(arrival.group for arrival in arrivals)
    return [counts[group] for group in range(1, count + 1)]


def most_at_once(arrivals, begin=0, end=1 << 62):
    """The most requests in flight from `begin` to `end`. At one moment, ends come before arrivals."""
    steps = sorted(step for arrival in arrivals
                   for step in ((arrival.at, 1), (arrival.ended or 1 << 62, -1)))
    most = now = 0
    for at, by in sorted(steps):
        now += by
        if begin <= at < end:
            most = max(most, now)
    return most


def longest_silence(times, begin, end):
    """The longest time between two arrivals, or between an arrival and an edge of the stretch."""
    inside = [begin, *(at for at in times if begin < at < end), end]
    return max(after - before for before, after in zip(inside, inside[1:]))


def latenesses(times, distance, beside=400):
    """How much later than booked each request came, ascending. Bookings of a pacer that is never idle are `distance`
    apart, so the arrivals of the next `beside` requests say when this one was booked at the latest. The most punctual
    of them counts as in time."""
    found, ahead = [], collections.deque()  # candidates for the least: (number, time − number × distance)
    for number in range(len(times) - 1, -1, -1):
        own = times[number] - number * distance
        while ahead and ahead[-1][1] >= own:
            ahead.pop()
        ahead.append((number, own))
        while ahead[0][0] > number + beside:
            ahead.popleft()
        found.append(own - ahead[0][1])
    return sorted(found)
