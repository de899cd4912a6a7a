# SPDX-License-Identifier: Apache-2.0
"""What each kind of limit may let through in a stretch of time, as docs/limits.md promises it, and how it is written in
a configuration. Pure arithmetic; times are seconds since 1970. For the programs of this folder only."""

import dataclasses
import math

EDGE = 1e-6  # times are told in microseconds


class Kind:
    """`bound`: how many may leave between two moments; `more`: how many beyond that where Redis lost its memory, or went
    away or came back, so many times."""

    def more(self, _lost, _switched):
        return 0


@dataclasses.dataclass(frozen=True)
class Pacer(Kind):
    qps: int
    burst: int

    def more(self, lost, _switched):
        return lost

    def bound(self, begin, end):
        return self.qps * (end - begin) + self.burst + 1

    def yaml(self):
        return f"pacer: {{ qps: {self.qps}, maxBurst: {self.burst}"

    def scaled(self, factor):
        return Pacer(max(1, round(self.qps * factor)), round(self.burst * factor))


@dataclasses.dataclass(frozen=True)
class SlidingWindow(Kind):
    most: int
    interval: float

    def bound(self, begin, end):
        return self.most * (math.floor((end - begin) / self.interval) + 1)

    def yaml(self):
        return f"slidingWindow: {{ max: {self.most}, interval: {round(self.interval * 1000)}ms"

    def scaled(self, factor):
        return dataclasses.replace(self, most=max(1, round(self.most * factor)))


@dataclasses.dataclass(frozen=True)
class Window(Kind):
    reservoir: int
    interval: float

    def bound(self, begin, end):
        return self.reservoir * (math.floor(end / self.interval + EDGE) - math.floor(begin / self.interval - EDGE) + 1)

    def yaml(self):
        return f"window: {{ reservoir: {self.reservoir}, interval: {round(self.interval * 1000)}ms"

    def scaled(self, factor):
        return dataclasses.replace(self, reservoir=max(1, round(self.reservoir * factor)))


@dataclasses.dataclass(frozen=True)
class TokenBucket(Kind):
    capacity: int
    amount: int
    frequency: float

    def more(self, lost, switched):
        """Redis and the process by itself refill in a rhythm of their own, so one refill may count in both."""
        return 5 * lost + self.amount * switched

    def bound(self, begin, end):
        return self.capacity + self.amount * math.ceil((end - begin) / self.frequency)

    def yaml(self):
        return (f"tokenBucket: {{ capacity: {self.capacity}, refillAmount: {self.amount}, "
                f"refillFrequency: {round(self.frequency * 1000)}ms")

    def scaled(self, factor):
        return dataclasses.replace(self, capacity=max(1, round(self.capacity * factor)),
                                   amount=max(1, round(self.amount * factor)))


@dataclasses.dataclass(frozen=True)
class Semaphore(Kind):
    capacity: int
    lease: str = "2s"

    def bound(self, _begin, _end):
        return math.inf  # it bounds what is in flight, and no rate

    def yaml(self):
        return f"semaphore: {{ capacity: {self.capacity}, lease: {self.lease}"

    def scaled(self, factor):
        return dataclasses.replace(self, capacity=max(1, round(self.capacity * factor)))


@dataclasses.dataclass(frozen=True)
class Arrival:
    dispatched: float  # as the event log says
    at: float          # as the origin saw it
    name: str          # of the request


def too_many(arrivals, allowed, lag):
    """The stretches in which an origin saw more than it should: (arrivals, how many were allowed).

    Each arrival may be as late as it was after its dispatch, which is measured, and its dispatch as late after the
    departure that was booked as the program itself was slow (`lag`). So a stretch is as long, for the limit, as the most
    that these make of it. `allowed(begin, end)`: what the limits in force meanwhile let through.
    """
    arrivals = sorted(arrivals, key=lambda arrival: arrival.at)
    found = []
    for first, begin in enumerate(arrivals):
        late = 0.0
        for count, end in enumerate(arrivals[first:], 1):
            late = max(late, end.at - end.dispatched)
            most = allowed(begin.at - late - lag, end.at)
            if count > most + EDGE:
                found.append((arrivals[first:first + count], most))
                break
            if most - count > len(arrivals) - first:
                break  # not even all that come could be too many
    return found
