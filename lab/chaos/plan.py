# SPDX-License-Identifier: Apache-2.0
"""What is to happen in a round of a chaos run, drawn from a seed: visits of clients, and faults. Pure. For the programs
of this folder only."""

import dataclasses
import random

from origins import BAD, GOOD, REFUSING
from settings import UPSTREAMS

METHODS = {"GET": 48, "POST": 25, "PUT": 10, "DELETE": 5, "HEAD": 6, "OPTIONS": 4, "PURGE": 2}
SCRIPTS = {**dict.fromkeys(GOOD, 8), **dict.fromkeys(BAD, 1), "ok": 60, "slow": 30, **dict.fromkeys(REFUSING, 1)}
AT_ONCE = ("too_long", "unasked", "body_of_nothing")  # must be sent in one piece
FAULTS = {"restart": 10, "redis_kill": 2, "redis_stop": 3, "redis_flush": 3, "reload": 8, "reload_bad": 3, "names": 2}


@dataclasses.dataclass
class Ask:
    """One request to be."""
    name: str
    upstream: str
    host: str
    method: str
    script: str
    size: int
    body: bytes | int      # the size of the request's
    framing: str           # length, chunked
    group: str = ""
    expects: bool = False
    version: str = "1.1"
    scheme: str = "http"

    def path(self):
        return f"{'/' + self.group if self.group else ''}/c/{self.name}/{self.script}/{self.size}/{self.body}"


@dataclasses.dataclass
class Leaving:
    stage: str   # head, upload, wait, answer
    how: str     # close, reset, half
    after: float


@dataclasses.dataclass
class Visit:
    """What one client does on one connection. `way`: turns, pipeline, tunnel, bad."""
    at: float
    way: str
    asks: list
    leaving: Leaving | None = None
    is_slow: bool = False
    draw: int = 0   # for what else is to be chosen


@dataclasses.dataclass
class Fault:
    at: float
    name: str
    lasts: float
    draw: int


def pick(drawn, weights):
    return drawn.choices(list(weights), weights.values())[0]


class Plan:
    """One round, always the same from the same seed and number."""

    def __init__(self, seed, number, seconds, rate):
        self._drawn = random.Random(f"{seed}/{number}")
        self._number, self._count = number, 0
        self.visits = list(self._visits(seconds, rate))
        self.faults = list(self._faults(seconds))

    def _name(self):
        self._count += 1
        return f"{self._number}-{self._count}"

    def _visits(self, seconds, rate):
        at, drawn = 0.0, self._drawn
        while (at := at + drawn.expovariate(rate / 1.9)) < seconds:  # a visit has so many requests in the mean
            upstream = pick(drawn, {name: each.share for name, each in UPSTREAMS.items()})
            if upstream == "tunnels":
                yield self._tunnel(at)
            elif drawn.random() < 0.04:
                yield Visit(at, "bad", [self._ask(upstream), self._ask(upstream)], draw=drawn.randrange(1 << 30))
            else:
                yield self._visit(at, upstream)

    def _visit(self, at, upstream):
        drawn = self._drawn
        way = pick(drawn, {"turns": 8, "pipeline": 2})
        asks = [self._ask(upstream) for _ in range(pick(drawn, {1: 10, 2: 4, 3: 2, 6: 1}))]
        if way == "pipeline":
            asks = [dataclasses.replace(ask, expects=False, version="1.1") for ask in asks]
        leaving = self._leaving() if drawn.random() < 0.2 else None
        return Visit(at, way, asks, leaving, drawn.random() < 0.05)

    def _leaving(self):
        drawn = self._drawn
        return Leaving(pick(drawn, {"head": 1, "upload": 2, "wait": 4, "answer": 2}),
                       pick(drawn, {"close": 2, "reset": 2, "half": 1}), drawn.choice((0, 0.002, 0.02, 0.1, 0.4)))

    def _ask(self, upstream):
        drawn, where = self._drawn, UPSTREAMS[upstream]
        method = pick(drawn, METHODS)
        body = 0
        if method in ("POST", "PUT") or drawn.random() < 0.03:
            body = drawn.choice((1, 40, 700, 5000, 70000, 300000)) if drawn.random() < 0.9 else 0
        script, size = pick(drawn, SCRIPTS), drawn.choice((0, 1, 100, 2000, 2000, 30000, 200000))
        if script in AT_ONCE:
            size = min(size, 2000)
        return Ask(self._name(), upstream, where.host if upstream != "*" else f"wild{drawn.randrange(4)}.test", method,
                   script, size, body,
                   drawn.choice(("length", "chunked")), f"t{drawn.randrange(3)}" if where.group else "",
                   body > 0 and drawn.random() < 0.1, "1.0" if drawn.random() < 0.04 else "1.1",
                   "https" if upstream == "secure" and drawn.random() < 0.3 else "http")

    def _tunnel(self, at):
        drawn, name = self._drawn, self._name()
        end = pick(drawn, {"stay": 6, "close": 2, "reset": 2, "stall": 1})
        ask = Ask(name, "tunnels", f"t{name}.tunnel.test", "CONNECT", end, drawn.choice((10, 3000, 100000)), 0, "length")
        leaving = Leaving(pick(drawn, {"head": 1, "wait": 3, "answer": 6}), pick(drawn, {"close": 2, "reset": 2, "half": 2}),
                          drawn.choice((0, 0.002, 0.02, 0.2)))
        return Visit(at, "tunnel", [ask], leaving)

    def _faults(self, seconds):
        at, drawn = 0.0, self._drawn
        while (at := at + drawn.expovariate(1.5)) < seconds:
            yield Fault(at, pick(drawn, FAULTS), drawn.choice((0.02, 0.1, 0.3, 0.8)), drawn.randrange(1 << 30))
