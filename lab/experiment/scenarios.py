# SPDX-License-Identifier: Apache-2.0
"""Scenarios without failures: the kinds of limits beside Bottleneck, bursts, groups, numbers of processes, distances to
Redis, permits. For the programs of this folder only."""

import typing

import readings
from aims import (about, all_of, between, counted, even_gaps, fair, fair_from, fair_groups, few_calls,
                  few_calls_beside_one_a_second, first_within, full_resets, full_windows, never_above, over_at_no_time,
                  permits_used, punctual, sent, silence_within, times_of)
from readings import SECOND
from runs import Setting, run_bottleneck, run_penstock
from visitors import Crowd, run_visitors

PACER = "pacer: { qps: 400 }"
BUCKET = "tokenBucket: { capacity: 1, refillAmount: 1, refillFrequency: 2500us }"
WINDOW = "window: { reservoir: 200, interval: 500ms }"
COUNTER = "counter: { max: 200, period: 500ms }"
SLIDING = "slidingWindow: { max: 200, interval: 500ms }"
DISTANCES = (100, 500, 2500)  # one way: round trips of 0.2, 1 and 5 ms
FAR = (22500,)                # a round trip of 45 ms
DISTANCE_MS = 2.5             # between two departures of PACER


class Scenario(typing.NamedTuple):
    name: str
    run: typing.Callable   # (tools) → Run
    aims: typing.Callable  # (Run) → Aims, in order


def penstock(name, setting, *aims):
    return Scenario(name, lambda tools: run_penstock(tools, setting), all_of(*aims))


def bottleneck(name, options):
    return Scenario(name, lambda tools: run_bottleneck(tools, Setting(), options), all_of())


def hardly_unused(run):
    return [between("at most 0.5 % unused", len(counted(run)), 3980, 4000, leeway=2 * run.lost_ms)]


RESERVOIR = '"reservoir": 200, "reservoirRefreshAmount": 200, "reservoirRefreshInterval": 500'

REFERENCE = [
    penstock("pacer", Setting((PACER,)), about(4000, 4), even_gaps, fair, few_calls(0.2), punctual(DISTANCE_MS)),
    penstock("tokenBucket", Setting((BUCKET,)), about(4000, 4), fair, few_calls(0.2)),
    bottleneck("Bottleneck, minTime", '{"minTime": 2.5}'),
    penstock("window", Setting((WINDOW,)), full_windows(), few_calls(0.2)),
    penstock("counter", Setting((COUNTER,)), full_resets, few_calls(0.2)),
    penstock("slidingWindow", Setting((SLIDING,)), over_at_no_time(), hardly_unused, few_calls(0.2)),
    bottleneck("Bottleneck, reservoir", f"{{{RESERVOIR}}}"),
    bottleneck("Bottleneck, reservoir, heartbeat 250 ms", f'{{{RESERVOIR}, "heartbeatInterval": 250}}'),
]


# With 150 clients all requests leave at the edge of a window of 200, and the rest of the window is for the clients that
# come back first: shares then only show how soon clients come back. With 300 clients some requests of each process wait
# at any time, so shares must be equal.

SHARES = [
    penstock("window, 300 clients", Setting((WINDOW,), workers=100), full_windows(), fair, few_calls(0.2)),
    penstock("counter, 300 clients", Setting((COUNTER,), workers=100), full_resets, fair, few_calls(0.2)),
    penstock("slidingWindow, 300 clients", Setting((SLIDING,), workers=100), over_at_no_time(), fair, few_calls(0.2)),
]


# A burst is spent in the first moment; from then on only the rate may leave.

def spike_is_over(run):
    """300 requests at once, of which 100 leave as a burst; then 60/s come and 100/s may leave."""
    return [between("the queue of a spike is empty within 6.1 s", run.notes["empty"], 0, 6.1, "{:.2f} s")]


def burst(name, limit, least, most, *aims, processes=3, seconds=10, group="", step=0):
    setting = Setting((limit,), processes=processes, seconds=seconds, group=group and "path:/{group}",
                      groups=(group or 0,))
    return penstock(name, setting, sent(least, most), fair_from(1, step), *aims)


SHOPS = "tokenBucket: { capacity: 40, refillAmount: 2, refillFrequency: 1s%s }"

BURSTS = [
    burst("pacer 100/s, burst 100", "pacer: { qps: 100, maxBurst: 100 }", 1090, 1101, few_calls(0.44)),
    burst("pacer 100/s, burst 300, 8 processes", "pacer: { qps: 100, maxBurst: 300 }", 1285, 1301, few_calls(0.44),
          processes=8),
    burst("pacer 25/s, burst 20", "pacer: { qps: 25, maxBurst: 20 }", 267, 271),
    burst("pacer 14.8/s, burst 10", "pacer: { qps: 14.8, maxBurst: 10 }", 155, 159),
    burst("tokenBucket 40, 2 per s", SHOPS % "", 60, 64, silence_within(1.1, 1, 12), seconds=12, step=2),
    burst("tokenBucket 40, 2 per s, 3 groups", SHOPS % ", per: group", 180, 192, silence_within(1.1, 1, 12), seconds=12,
          group=3, step=3 * 2),
    burst("tokenBucket 100, 1 per 10 ms", "tokenBucket: { capacity: 100, refillAmount: 1, refillFrequency: 10ms }", 1088,
          1101),
    Scenario("pacer 100/s, burst 100: a spike of 300, then 60/s",
             lambda tools: run_visitors(tools, Setting(("pacer: { qps: 100, maxBurst: 100 }",), seconds=10),
                                        Crowd(per_second=60, spike=300)), spike_is_over),
]


# Groups with limits of their own, which do not hold them up, beside a limit that all share.

def groups_of(count, rate, processes, workers, groups=None):
    return Setting((f"window: {{ reservoir: {rate}, interval: 1s, per: group }}", f"pacer: {{ qps: {rate} }}"),
                   "path:/{group}", processes=processes, workers=workers, groups=groups or (count,))


GROUPS = [
    penstock("100 groups under 200/s", groups_of(100, 200, 3, 100), about(2000, 20), fair, fair_groups(100, 0.5)),
    penstock("100 groups under 200/s, 8 processes", groups_of(100, 200, 8, 100), about(2000, 20), fair),
    penstock("1000 groups under 500/s", groups_of(1000, 500, 3, 1000), about(5000, 50), fair),
    penstock("90 groups here, 10 there, under 200/s", groups_of(90, 200, 2, (90, 90), (90, 10)), about(2000, 20), fair),
]


# Numbers of processes, distances to Redis, wrong clocks.

def noted_calls(stage):
    """Notes the Redis calls of ten seconds, once each process has begun."""
    stage.wait_until(2)
    before = stage.redis.cost().calls
    stage.note_now("calls begin")
    stage.wait_until(12)
    stage.notes["calls"] = stage.redis.cost().calls - before
    stage.note_now("calls end")


PROCESSES = [
    penstock("pacer, one process", Setting((PACER,), processes=1), about(4000, 4), even_gaps, punctual(DISTANCE_MS)),
    penstock("window, one process", Setting((WINDOW,), processes=1, workers=150), full_windows()),
    penstock("slidingWindow, one process", Setting((SLIDING,), processes=1, workers=150), over_at_no_time()),
    penstock("pacer, 8 processes", Setting((PACER,), processes=8), about(4000, 4), fair, few_calls(0.2)),
    penstock("window, 8 processes", Setting((WINDOW,), processes=8), full_windows(), fair, few_calls(0.2)),
    penstock("slidingWindow, 8 processes", Setting((SLIDING,), processes=8), over_at_no_time(), fair, few_calls(0.2)),
    penstock("pacer, 16 processes", Setting((PACER,), processes=16), about(4000, 4), fair, few_calls(0.2)),
    penstock("window, 16 processes", Setting((WINDOW,), processes=16), full_windows(), fair, few_calls(0.2)),
    Scenario("1/s, 8 processes",
             lambda tools: run_penstock(tools, Setting(("pacer: { qps: 1 }",), processes=8, workers=10, seconds=13),
                                        noted_calls),
             all_of(sent(12, 14), few_calls_beside_one_a_second(1.2))),
]

DISTANT = [
    penstock("pacer, 0.2/1/5 ms", Setting((PACER,), delays=DISTANCES), about(4000, 4), fair, few_calls(0.2)),
    penstock("window, 0.2/1/5 ms", Setting((WINDOW,), workers=100, delays=DISTANCES), full_windows(), fair),
    penstock("slidingWindow, 0.2/1/5 ms", Setting((SLIDING,), workers=100, delays=DISTANCES), over_at_no_time(),
             fair),
    penstock("pacer, 45 ms", Setting((PACER,), delays=FAR, timeout="500ms"), about(4000, 40), fair),
    penstock("pacer, clocks ±10 s", Setting((PACER,), clocks=(-10, 0, 10)), about(4000, 4), fair),
    penstock("window, clocks ±10 s", Setting((WINDOW,), clocks=(-10, 0, 10)), full_windows()),
]


# Requests in flight.

PERMITS = [
    penstock("semaphore 20, flights of 50 ms", Setting(("semaphore: { capacity: 20 }",), flight_us=50_000, workers=30),
             never_above(20), permits_used(20, 1, 9, 0.98), few_calls(0.7), fair),
    penstock("semaphore 20, flights of 50 ms, 8 processes",
             Setting(("semaphore: { capacity: 20 }",), processes=8, flight_us=50_000, workers=30),
             never_above(20), permits_used(20, 1, 9, 0.9), few_calls(2)),
    penstock("semaphore 10, flights of 50 ms, 0.2/1/5 ms",
             Setting(("semaphore: { capacity: 10 }",), flight_us=50_000, workers=15, delays=DISTANCES),
             never_above(10), permits_used(10, 1, 9, 0.9), few_calls(2)),
    penstock("a new semaphore", Setting(("semaphore: { capacity: 10 }",), processes=1, workers=1, flight_us=500_000,
                                        seconds=2), first_within(1)),
]


# Visitors, which come whether or not others were served, and give up.

MINUTES = Setting(("window: { reservoir: 1, interval: 1s }",), seconds=20)  # one per minute, 60 times as fast
OWN = Setting(("window: { reservoir: 10, interval: 10s, per: group }", "pacer: { qps: 50 }"), "path:/{group}",
              processes=4, seconds=20)


def groups_served(run):
    wanted = 50 * run.setting.seconds
    return [between(f"the 50/s fully used: {wanted:g}", len(counted(run)), wanted * 0.99, wanted + 1),
            *fair_groups(100, 0.4)(run), *few_calls(2.3)(run)]


def minutes_used(run):
    counts = readings.whole_windows(times_of(run), SECOND, round(run.setting.seconds) - 1)
    filled = sum(map(bool, counts)) / len(counts)
    return [between("over 95 % of the windows used", filled, 0.95, 1, "{:.1%}"),
            between("at most one in each", max(counts), 0, 1)]


VISITED = [
    Scenario("100 groups, 10 per 10 s each, under 50/s, 4 processes",
             lambda tools: run_visitors(tools, OWN, Crowd(per_second=100, groups=100)), groups_served),
    Scenario("one per s, clients leave after 2 s",
             lambda tools: run_visitors(tools, MINUTES, Crowd(per_second=3, patience=2)), minutes_used),
]

UNDISTURBED = SHARES + BURSTS + GROUPS + PROCESSES + DISTANT + PERMITS + VISITED
