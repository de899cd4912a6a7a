# SPDX-License-Identifier: Apache-2.0
"""Scenarios with failures: a Redis that goes and returns, forgets or refuses; processes that are frozen or cut off. For
the programs of this folder only."""

from aims import (HALF, all_of, at_most_sent, between, counted, full_windows_from, never_above, no_window_over, noted,
                  nothing_cut, over_at_no_time, permits_used, sent, shares, silence_within, used)
from readings import SECOND
from runs import Setting, run_penstock
from scenarios import PACER, WINDOW, Scenario
from visitors import Crowd, run_visitors

SMALL = "window: { reservoir: 100, interval: 500ms }"
LARGE = "window: { reservoir: 600, interval: 5s }"
UNEQUAL = (80, 5, 5)   # workers of three processes
PERMITS = "semaphore: { capacity: 10 }"
SHORT = "semaphore: { capacity: 10, lease: 4s }"
DAY = ("window: { reservoir: 600, interval: 1d }", "pacer: { qps: 200 }")
USER = "penstock:secret@"


def during(name, setting, what, *aims, before=lambda stage: None):
    return Scenario(name, lambda tools: run_penstock(tools, setting, what, before), all_of(*aims))


# The faults.

def frozen_redis(begin, end, times=1, every=0.0):
    """Redis is frozen from `begin` to `end`, `times` times; connections stay. The notes are of the last time."""
    def work(stage):
        for number in range(times):
            stage.wait_until(begin + number * every)
            stage.note_now("gone")
            stage.redis.freeze()
            stage.wait_until(end + number * every)
            stage.redis.thaw()
            stage.note_now("back")
    return work


def restarted_redis(begin, end, saved=None):
    """Redis is down from `begin` to `end`, and returns with what it saved at `saved`, or empty."""
    def work(stage):
        if saved is not None:
            stage.wait_until(saved)
            stage.redis.ask("SAVE")
        stage.wait_until(begin)
        stage.redis.kill()
        stage.note_now("gone")
        stage.wait_until(end)
        stage.redis.start()
        stage.note_now("back")
    return work


def lost_connections(begin, times, every=1.0, kinds=("normal", "pubsub"), which=None):
    """All connections are cut, `times` times; `which`: only those of one process, by its relay."""
    def work(stage):
        for number in range(times):
            stage.wait_until(begin + number * every)
            if which is None:
                for kind in kinds:
                    stage.redis.ask("CLIENT", "KILL", "TYPE", kind)
            else:
                stage.relays[which].order("cut")
                stage.relays[which].order("pass")
            stage.note_now("back")
    return work


def frozen_process(process, begin, end):
    def work(stage):
        stage.wait_until(begin)
        stage.note_now("gone")
        stage.freeze(process)
        stage.wait_until(end)
        stage.note_now("back")
        stage.thaw(process)
    return work


def cut_off(process, begin, end=None):
    """The process' bytes to Redis vanish; from `end` on, if given, they come through again."""
    def work(stage):
        stage.wait_until(begin)
        stage.note_now("gone")
        stage.relays[process].order("hole")
        if end is not None:
            stage.wait_until(end)
            stage.relays[process].order("pass")
            stage.note_now("back")
    return work


# Rates while Redis is away.

def within_what_a_lost_process_may(run):
    """The lost process goes on with the third that it was given; the others may soon take the whole."""
    return [between("at most 4/3 of the limit meanwhile", len(counted(run)), 0, 4000 * (1 + 2 / 3 / 3) + 20),
            between("nobody below half of its share", min(shares(run)), len(counted(run)) / 6, len(run.arrivals))]


def few(run):
    """With 300/s, three times the limit: what left while Redis was away is no debt."""
    return all_of(silence_within(1, "back", ("back", 4)), used(100, ("back", 1), ("back", 4), 0.9))(run)


RATES = [
    during("window 100, Redis frozen for 3 s", Setting((SMALL,), workers=UNEQUAL, seconds=12), frozen_redis(3.1, 6.1),
           no_window_over(100, HALF), full_windows_from(100, HALF, ("back", 3), 12)),
    during("window 100, Redis restarted empty after 3 s", Setting((SMALL,), workers=UNEQUAL, seconds=12),
           restarted_redis(3.1, 6.1), no_window_over(100, HALF), full_windows_from(100, HALF, ("back", 3), 12)),
    during("window 600 per 5 s, Redis frozen for 3 s", Setting((LARGE,), workers=UNEQUAL, seconds=15), frozen_redis(4, 7),
           no_window_over(600, 5 * SECOND)),
    during("window 600 per 5 s, a connection lost each second", Setting((LARGE,), workers=UNEQUAL, seconds=10, delays=(0,)),
           lost_connections(1, 9, which=1), no_window_over(600, 5 * SECOND, excess=200)),
    during("slidingWindow 200/s, Redis stalls 100 ms each second",
           Setting(("slidingWindow: { max: 200, interval: 1s }",)), frozen_redis(1, 1.1, 9, 1.0),
           over_at_no_time(200, SECOND), used(200, 0, 10, 0.95)),
    # At each loss a process may let one request go by its part: docs/limits.md.
    during("pacer, all connections lost each second", Setting((PACER,)), lost_connections(1, 9), sent(3920, 4001 + 9 * 3)),
    during("pacer, wait, all connections lost each second", Setting((PACER,), when_down="wait"), lost_connections(1, 9),
           sent(3920, 4001)),
    during("pacer, one cut off from Redis", Setting((PACER,), delays=(0,)), cut_off(-1, 3.3),
           within_what_a_lost_process_may),
    during("pacer, one process frozen", Setting((PACER,), on_refusal="rest"), frozen_process(2, 3, 7),
           used(400, ("gone", 0.2), "back", 0.99)),
    Scenario("pacer 100/s, open, 5 s without Redis at 300/s",
             lambda tools: run_visitors(tools, Setting(("pacer: { qps: 100 }",), when_down="open", seconds=12),
                                        Crowd(per_second=300), frozen_redis(2, 7)), few),
    during("window, processes that start without Redis",
           Setting((WINDOW,), seconds=5, is_up=False, redis=", processes: 3"), lambda stage: None,
           no_window_over(200, HALF)),
]


# Permits while Redis or a process is away.

HELD = Setting((PERMITS,), workers=(20, 5, 5), flight_us=500_000, on_refusal="rest", seconds=10)
BRIEF = Setting((PERMITS,), workers=15, flight_us=50_000, on_refusal="rest", seconds=8)

IN_FLIGHT = [
    during("semaphore 10, Redis frozen for 3 s", HELD, frozen_redis(2, 5), never_above(10), nothing_cut,
           permits_used(10, ("back", 3), 10, 0.9)),
    during("semaphore 10, Redis restarted empty",
           Setting((SHORT,), workers=(20, 5, 5), flight_us=500_000, on_refusal="rest", seconds=10),
           restarted_redis(2, 3), never_above(10), nothing_cut, permits_used(10, ("back", 4), 10, 0.9)),
    during("semaphore 10, all connections lost three times", HELD, lost_connections(2, 3), never_above(10), nothing_cut),
    during("semaphore 10, one process frozen", BRIEF, frozen_process(2, 2, 6), never_above(10),
           used(200, ("gone", 0.3), "back", 0.55)),
    during("semaphore 10, one process cut off from Redis",
           Setting((PERMITS,), workers=15, flight_us=50_000, on_refusal="rest", seconds=8, delays=(0,)),
           cut_off(2, 2, 6), never_above(10), used(200, ("gone", 0.3), "back", 0.55)),
    during("semaphore 10, an old memory of Redis",
           Setting((SHORT,), workers=10, flight_us=1_000_000, on_refusal="rest", seconds=8),
           restarted_redis(2.5, 2.6, saved=0.001), never_above(10), nothing_cut),
]


# What Redis forgets.

def saved_early(stage):
    restarted_redis(2, 2.1, saved=1)(stage)


def paused(how):
    """The origin answers with Retry-After: 4, and then Redis loses its memory."""
    def work(stage):
        stage.wait_until(2)
        stage.origin.order("retry 4")
        stage.wait_until(2.3)
        stage.note_now("paused")
        how(stage)
    return work


def killed_and_empty(stage):
    stage.redis.kill()
    stage.redis.start()


PAUSED = Setting(("pacer: { qps: 200 }",), on_refusal="rest", seconds=8, obey="retry: off")
NONE_IN_THE_PAUSE = (at_most_sent(0, "paused", ("paused", 3.5), "none leaves in the 3.5 s that are left of the pause"),
                     used(200, ("paused", 4.2), 8, 0.95))

MEMORY = [
    during("window 600 per day, an old memory of Redis", Setting(DAY, seconds=7, on_refusal="rest"), saved_early,
           at_most_sent(600, 0, 8, "never more than 600"), sent(590, 600)),
    during("a learned pause, FLUSHALL", PAUSED, paused(lambda stage: stage.redis.ask("FLUSHALL")), *NONE_IN_THE_PAUSE),
    during("a learned pause, Redis restarted empty", PAUSED, paused(killed_and_empty), *NONE_IN_THE_PAUSE),
]


# What Redis refuses, and what processes report of it.

def note_degraded(stage):
    """Sums penstock_degraded over all processes, once they have asked for a while."""
    stage.wait_until(3)
    stage.notes["degraded"] = int(sum(daemon.metric("penstock_degraded") for daemon in stage.daemons))


def refusing(*rules):
    return lambda stage: stage.redis.ask("ACL", "SETUSER", USER.partition(":")[0], *rules)


def all_degraded(count):
    return noted("degraded", f"each of {count} processes says that it is degraded", lambda found: found == count)


def refused(name, limit, before, *aims, options=(), user=USER, flight_us=0):
    setting = Setting((limit,), user=user, options=options, seconds=4, flight_us=flight_us, on_refusal="rest")
    return during(name, setting, note_degraded, all_degraded(3), *aims, before=before)


def note_differing(stage):
    """Notes how many log lines have both limits."""
    stage.wait_until(13)
    lines = [line for daemon in stage.daemons for line in daemon.said().splitlines()]
    stage.notes["differing"] = sum("400" in line and "300" in line and "qps" in line for line in lines)


def note_lost_leases(stage):
    """The first permits may all be one process's. When these come back, each process has its share."""
    cut_off(2, 6)(stage)
    stage.wait_until(11)
    stage.notes["lost"] = sum("lease_lost" in line for line in stage.daemons[2].events())


TOLD = [
    refused("a user that may not call TIME", "pacer: { qps: 200 }", refusing("-time")),
    refused("a user without channels, semaphore", PERMITS, refusing("resetchannels"), flight_us=50_000),
    refused("a Redis without EVALSHA", "pacer: { qps: 200 }", lambda stage: None, user="",
            options=("--rename-command", "EVALSHA", "")),
    during("processes whose limits differ",
           Setting((("pacer: { qps: 400 }",), ("pacer: { qps: 400 }",), ("pacer: { qps: 300 }",)), seconds=14),
           note_differing, noted("differing", "a line of a log has both limits", lambda found: found)),
    during("semaphore, a process cut off for longer than its lease",
           Setting(("semaphore: { capacity: 10, lease: 2s }",), flight_us=4_000_000, on_refusal="rest", seconds=11,
                   delays=(0,), when_down="wait"), note_lost_leases,
           noted("lost", "its log says lease_lost", lambda found: found)),
]

DISTURBED = RATES + IN_FLIGHT + MEMORY + TOLD
