# SPDX-License-Identifier: Apache-2.0
"""The experiment over each way to Redis: three processes share the limits of eight upstreams, whose keys lie on all
nodes, while a master is killed, a slot moves and a replica takes over. No window may be over, and an event may cost no
more than one horizon, and what processes wait for the last of them to have Redis again. Called by CTest with the build
directory and the program."""

import contextlib
import datetime
import itertools
import json
import pathlib
import sys
import time
import unittest

import machine
import overruns
import readings
from overruns import HORIZON, WORK
from readings import MS, SECOND
from runs import MEANT_TO_GO_ON, ready
from stage import Tools
from ways import WAYS, Disturbed

PROGRAM = pathlib.Path(sys.argv.pop())
TOOLS = Tools(pathlib.Path(sys.argv.pop()), PROGRAM)
PROCESSES, UPSTREAMS, WORKERS = 3, 8, 10
LIMIT = overruns.Limit(60, SECOND // 2)  # of windows, and of pacers the rate; it can be divided by the processes
RATE = LIMIT.full * SECOND // LIMIT.length
QUIET = (1, 5)                           # seconds in which nothing happens, and calls are counted
AFTER = 5                                # seconds after the last event
STALLED = 0.5                            # seconds by which a machine is late where servers take each other for dead
STALLED_CALL = 0.02                      # seconds of a stall, of which several in turn make an answer of Redis late
OUTAGE = 5                               # seconds after which Redis is in use again, whatever happened; a replica needs 4.7
# Where Redis goes, each process but one may let a request go by its part, and all of them what they have not heard that
# others have booked: docs/limits.md.
BESIDE = PROCESSES - 1 + RATE * HORIZON // SECOND


def late(begin, end):
    """For how many nanoseconds what was due at `begin` + HORIZON may have been held up: while the machine was late, from
    `begin` to `end`, and while a process waited for a core, from `begin` to `begin` + HORIZON + WORK. Then it has come.
    The moments are nanoseconds since 1970."""
    since_1970 = time.time() - time.monotonic()
    moments = [moment / SECOND - since_1970 for moment in (begin, end, begin + HORIZON + WORK)]
    return round(SECOND * machine.held_up(*moments))


def config_of(way, redis, names, origins):
    """Windows and pacers in turn. `redis`: further keys of it."""
    lines = [f"redis: {{ {way.keys()}, {redis} }}", "upstreams:"]
    for number, (name, origin) in enumerate(zip(names, origins)):
        limit = "pacer: { qps: %d }" % RATE if number % 2 else "window: { reservoir: %d, interval: 500ms }" % LIMIT.full
        lines.append(f'  {name}: {{ match: "127.0.0.1:{origin.port}", queue: {{ maxPending: 10000, maxWait: 5m }}, '
                     f"limits: [ {{ {limit} }} ] }}")
    return "".join(line + "\n" for line in lines)


class Run:
    """`begin`: of the load; `times`: of the arrivals at each upstream; `calls`: of Redis in QUIET; `happened`: when each
    event did; `errors`: calls of Redis that failed under load. Unless a test says otherwise, a machine that stands still
    must not make Redis seem away."""

    def __init__(self, way, redis="timeout: 10s, whenDown: share", seconds_after=AFTER):
        self.happened = []
        self.seconds = max([QUIET[1], *(at for at, _, _ in way.events)]) + seconds_after
        with contextlib.ExitStack() as stack:
            names = way.upstreams(UPSTREAMS)
            origins = [stack.enter_context(TOOLS.origin()) for _ in names]
            config = config_of(way, redis, names, origins)
            daemons = [stack.enter_context(TOOLS.daemon(config)) for _ in range(PROCESSES)]
            proxies = [f"{daemon.port}:{WORKERS}:0" for daemon in daemons]
            loads = [stack.enter_context(TOOLS.workers(origin.port, self.seconds + MEANT_TO_GO_ON, 0, "rest", proxies))
                     for origin in origins]
            for pid in (*(daemon.pid for daemon in daemons), *(origin.process.pid for origin in origins),
                        *(server.pid() for server in way.servers)):
                machine.watch_process(pid)
            ready(loads)
            errors = self._errors(daemons)
            for load in loads:
                load.tell("")
            self.begin = time.time_ns()
            self._play(way)
            reports = [json.loads(load.line()) for load in loads]
            for daemon in daemons:
                daemon.check()
            self.errors = self._errors(daemons) - errors
            self.apart = self._apart(daemons)
            self.times = [[one.at for one in origin.arrivals()] for origin in origins]
        self.refused = sum(sum(report["refused"].values()) for report in reports)

    @staticmethod
    def _errors(daemons):
        return round(sum(daemon.metric("penstock_redis_errors_total") for daemon in daemons))

    def _apart(self, daemons):
        """For how many nanoseconds those that had Redis again waited for the last of them to have it, and to hand in what it
        has let leave. Processes hear of a new master from different sentinels, and these from each other."""
        back = [[datetime.datetime.fromisoformat(line.split(" ", 1)[0]).timestamp() * SECOND
                 for line in daemon.said().splitlines() if "is up again" in line] for daemon in daemons]
        apart = 0
        for begin, end in itertools.pairwise([*self.happened, self.end()]):
            first = [next((moment for moment in each if begin <= moment < end), None) for each in back]
            if None not in first:
                apart += max(first) - min(first)
        return round(apart)

    def at(self, seconds):
        return self.begin + round(seconds * SECOND)

    def end(self):
        return self.at(self.seconds)

    def sent(self, begin, end):
        """Of each pacer."""
        return [sum(begin <= at < end for at in of) for of in self.times[1::2]]

    def windows(self):
        """Of each window upstream: what each whole window carried."""
        return [readings.whole_windows(of, LIMIT.length, self.whole_windows(), LIMIT.length // 2) for of in self.times[::2]]

    def whole_windows(self):
        return self.seconds * SECOND // LIMIT.length - 2

    def beside(self, begin):
        """How many a pacer may let leave beyond its rate in the stretch that begins then."""
        near = (at - LIMIT.length <= begin <= at + OUTAGE * SECOND for at in self.happened)
        return BESIDE if any(near) else 0

    def _play(self, way):
        self._wait_until(self.at(QUIET[0]))
        before = way.calls()
        self._wait_until(self.at(QUIET[1]))
        self.calls = way.calls() - before
        for at, _, happens in way.events:
            self._wait_until(in_the_middle(self.at(at)))
            self.happened.append(time.time_ns())
            happens()

    @staticmethod
    def _wait_until(moment):
        time.sleep(max(0, (moment - time.time_ns()) / SECOND))


def in_the_middle(moment):
    """The next middle of a window: by then it is spent, and all processes have heard so. What one of them has not
    heard when Redis goes may be sent twice: docs/limits.md."""
    return moment + (LIMIT.length // 2 - moment) % LIMIT.length


class EachWay(unittest.TestCase):
    def over(self, kind):
        began = time.monotonic()
        try:
            with kind() as way:
                run, events = Run(way), way.events
        except Disturbed:
            if (stalled := machine.late(began)) < STALLED:
                raise
            return machine.say_not_judged(stalled, self.id(), "a server was replaced by itself")
        quiet = [run.at(moment) for moment in QUIET]
        expected = RATE * (run.seconds - QUIET[0])
        sent, windows = run.sent(quiet[0], run.end()), run.windows()
        lost = [max(0, expected - many) for many in sent] + \
            [max(0, LIMIT.full * len(of) - sum(of)) for of in windows]
        in_quiet = [sum(quiet[0] <= at < quiet[1] for at in of) for of in run.times]
        calls, held_up = run.calls / sum(in_quiet), late(run.begin, run.end())
        print(f"{kind.name}: {1 - sum(lost) / expected / UPSTREAMS:.1%} used; fullest window {max(map(max, windows))} of "
              f"{LIMIT.full}, of pacers {max(readings.fullest(of, LIMIT.length) for of in run.times[1::2])} in 500 ms; at most "
              f"{max(lost)} lost by {len(events)} events ({', '.join(what for _, what, _ in events) or 'none'}); "
              f"{calls:.3f} Redis calls a request; {run.refused} refused; back within {run.apart / MS:.0f} ms; "
              f"machine {held_up / MS:.0f} ms late", flush=True)
        nothing = [[]] * (UPSTREAMS // 2)
        self.assertEqual([overruns.of_windows(of, run.whole_windows(), LIMIT, late) for of in run.times[::2]], nothing)
        self.assertEqual([overruns.of_stretches(of, run.beside, LIMIT, late) for of in run.times[1::2]], nothing)
        for end, beside in ((quiet[1], 0), (run.end(), BESIDE * len(events))):
            self.assertEqual([overruns.of_all(of, quiet[0], end, beside, LIMIT, late) for of in run.times[1::2]],
                             [0] * (UPSTREAMS // 2))
        self.assertLessEqual(run.apart, SECOND * len(events))  # nobody waits longer for the others
        waited = run.apart * (PROCESSES - 1) // PROCESSES
        may_lose = RATE * (HORIZON * len(events) + WORK + held_up + waited) / SECOND
        self.assertLessEqual(max(lost), may_lose + 1)  # the next after the end
        self.assertEqual(run.refused, 0)
        # What leaves late is told one by one, and asked for anew, by as many as there are processes.
        self.assertLess(run.calls, 0.5 * sum(in_quiet) + PROCESSES * UPSTREAMS * RATE * late(*quiet) / SECOND)


for _kind in WAYS:
    setattr(EachWay, f"test_{_kind.name.lower()}", lambda self, kind=_kind: self.over(kind))


class DefaultTimeout(unittest.TestCase):
    """All other tests give Redis more than the 50 ms that users have."""

    def in_time(self, kind):
        with kind() as way:
            way.events = ()
            began = time.monotonic()
            run = Run(way, "whenDown: refuse", seconds_after=0)
        held_up = machine.longest(began)
        print(f"{kind.name} by default: {run.refused} refused, {run.errors} calls of Redis failed; the machine was late by "
              f"{held_up * 1000:.0f} ms at most", flush=True)
        if run.errors and held_up >= STALLED_CALL:
            return machine.say_not_judged(held_up, self.id(), "50 ms for an answer of Redis")
        self.assertEqual((run.refused, run.errors), (0, 0))


for _kind in WAYS:
    setattr(DefaultTimeout, f"test_{_kind.name.lower()}", lambda self, kind=_kind: self.in_time(kind))


def ideal(full, count=20):
    """Windows of so many, each of which leave within 20 ms from its edge on."""
    return [window * LIMIT.length + at * 20 * MS // full for window in range(1, count + 2) for at in range(full)]


class Overruns(unittest.TestCase):
    """The judge itself, which a machine that is never late cannot excuse."""

    @staticmethod
    def never(*_):
        return 0

    def test_window_one_too_many(self):
        self.assertEqual(overruns.of_windows(ideal(LIMIT.full), 19, LIMIT, self.never), [])
        self.assertEqual(overruns.of_windows(ideal(LIMIT.full + 1), 19, LIMIT, self.never), [LIMIT.full + 1] * 19)
        self.assertEqual(len(overruns.of_windows(ideal(LIMIT.full + 1), 19, LIMIT, lambda begin, end: SECOND)), 19)

    def test_window_held_up(self):
        times = ideal(LIMIT.full)
        edge = 5 * LIMIT.length
        own = times.index(edge)
        times[own - 9:own] = [edge + at * MS for at in range(9)]  # they were of the window before
        times.sort()
        self.assertEqual(overruns.of_windows(times, 19, LIMIT, self.never), [LIMIT.full + 9])
        self.assertEqual(overruns.of_windows(times, 19, LIMIT, lambda begin, end: 9 * MS), [])

    def test_pacer_too_quick(self):
        def paced(rate):
            return [at * SECOND // rate for at in range(rate * 6)]
        for rate, beyond in ((RATE, 0), (RATE + 2, 6)):
            found = overruns.of_all(paced(rate), SECOND, 5 * SECOND, 0, LIMIT, self.never)
            self.assertEqual(found, beyond, rate)
        self.assertEqual(overruns.of_stretches(paced(RATE), self.never, LIMIT, self.never), [])
        self.assertNotEqual(overruns.of_stretches(paced(RATE + 10), self.never, LIMIT, self.never), [])


machine.watch()
unittest.main()
