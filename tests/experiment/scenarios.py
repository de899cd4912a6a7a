# SPDX-License-Identifier: Apache-2.0
"""What is tried, and what is aimed at. For the programs of this folder only."""

import dataclasses
import math
import time
import typing

import readings
from readings import MS, SECOND
from runs import Run, Setting, run_bottleneck, run_penstock
from visitors import Crowd, run_visitors

PACER = "pacer: { qps: 400 }"
BUCKET = "tokenBucket: { capacity: 1, refillAmount: 1, refillFrequency: 2500us }"
WINDOW = "window: { reservoir: 200, interval: 500ms }"
COUNTER = "counter: { max: 200, period: 500ms }"
SLIDING = "slidingWindow: { max: 200, interval: 500ms }"
DISTANCES = (100, 500, 2500)  # one way: round trips of 0.2, 1 and 5 ms
HALF = 500 * MS
WARM = HALF // 2    # what leaves before is late by the time it takes to open connections
SILENCE = 100 * MS  # between two bursts of a counter


@dataclasses.dataclass(frozen=True)
class Aim:
    what: str
    measured: str
    met: bool


class Scenario(typing.NamedTuple):
    name: str
    run: typing.Callable   # (tools) → Run
    aims: typing.Callable  # (Run) → Aims, in order


def counted(run):
    """The arrivals that count: as many seconds as were meant, from the first on."""
    return readings.from_the_first(run.arrivals, round(run.setting.seconds * SECOND))


def times_of(run):
    return [arrival.at for arrival in run.arrivals]


def shares(run):
    return readings.shares(counted(run), run.setting.processes)


def between(what, value, least, most, shown="{:g}"):
    return Aim(what, shown.format(value), least <= value <= most)


def about(wanted, tolerance):
    return lambda run: [between(f"{wanted} ± {tolerance:g} sent", len(counted(run)), wanted - tolerance,
                                wanted + tolerance)]


def few_calls(most):
    return lambda run: [between(f"at most {most} Redis calls a request", run.redis_calls, 0, most, "{:.3f}")]


def fair(run):
    counts = shares(run)
    return [between("shares within 10 % of each other", max(counts) / max(min(counts), 1) - 1, 0, 0.1, "{:.1%}")]


def even_gaps(run):
    p1 = readings.quantile(readings.gaps([arrival.at for arrival in counted(run)]), 0.01) / MS
    return [between("p1 of the gaps at least 2 ms", p1, 2, math.inf, "{:.2f} ms")]


def all_like(what, unlike, count):
    """Says how many are not, and what they carry instead."""
    others = ", the others " + " ".join(map(str, unlike)) if unlike else ""
    return Aim(what, f"{count - len(unlike)} of {count}{others}", not unlike)


def full_windows(run):
    """Once connections are open: what is booked just before the edge of the very first window may else arrive after it."""
    counts = readings.whole_windows(times_of(run), HALF, round(run.setting.seconds * SECOND / HALF), WARM)
    return [all_like("every whole window carries exactly 200", [count for count in counts if count != 200], len(counts))]


def full_resets(run):
    """Between two resets nothing leaves once the counter is full, so its periods are bursts."""
    bursts = readings.bursts(times_of(run), SILENCE)[:round(run.setting.seconds * SECOND / HALF)]
    unlike = [count for _, count in bursts if count != 200]
    apart = (bursts[-1][0] - bursts[0][0]) / max(len(bursts) - 1, 1) / MS
    return [all_like("every period carries exactly 200", unlike, len(bursts)),
            between("periods last 500 ms or more in the mean", apart, 499.5, math.inf, "{:.1f} ms")]


def over_at_no_time(run):
    most = readings.fullest(times_of(run), HALF)
    return [between("never more than 200 in any 500 ms", most, 1, 200)]


def over_at_no_time_once_warm(run, late_ms=0):
    """`late_ms`: how late one departure may reach the wire and another not, beyond the guard of the limit."""
    warm = [at for at in times_of(run) if at >= run.arrivals[0].at + WARM]
    most = readings.fullest(warm, HALF - round(late_ms * MS))
    return [between("the same, once connections are open", most, 1, 200)]


def hardly_unused(run):
    return [between("at most 0.5 % unused", len(counted(run)), 3980, 4000)]


def nobody_starved(run):
    mean = len(counted(run)) / run.setting.processes
    return [between("nobody below half of its share", min(shares(run)), mean / 2, math.inf)]


def all_of(*parts):
    return lambda run: [aim for part in parts for aim in part(run)]


def cut_one_off(setting):
    """The last of the processes loses Redis after a third of the time, and does not get it back."""
    def during(relays):
        time.sleep(setting.seconds / 3)
        relays[-1].order("hole")
    return lambda tools: run_penstock(tools, setting, during)


def within_what_a_lost_process_may(run):
    """It goes on with the third that it was given; the others may soon take all."""
    return [between("at most 4/3 of the limit meanwhile", len(counted(run)), 0, 4000 * (1 + 2 / 3 / 3) + 20)]


def groups_served(run):
    counts = readings.groups([arrival for arrival in counted(run)], 100)
    wanted = 50 * run.setting.seconds
    return [between(f"the 50/s fully used: {wanted:g}", len(counted(run)), wanted * 0.99, wanted * 1.001),
            between("the worst served of 100 groups gets half of its share", min(counts), wanted / 200, math.inf),
            *few_calls(2.3)(run)]


def minutes_used(run):
    counts = readings.whole_windows(times_of(run), SECOND, round(run.setting.seconds) - 1)
    used = sum(map(bool, counts)) / len(counts)
    return [between("over 95 % of the windows used", used, 0.95, 1, "{:.1%}"),
            between("at most one in each", max(counts), 0, 1)]


def penstock(name, setting, *aims):
    return Scenario(name, lambda tools: run_penstock(tools, setting), all_of(*aims))


def bottleneck(name, options):
    return Scenario(name, lambda tools: run_bottleneck(tools, Setting(), options), all_of())


GROUPS = Setting(("window: { reservoir: 10, interval: 10s, per: group }", "pacer: { qps: 50 }"), "path:/{group}",
                 processes=4, seconds=60)
MINUTES = Setting(("window: { reservoir: 1, interval: 1s }",), seconds=100)  # one per minute, 60 times as fast
RESERVOIR = '"reservoir": 200, "reservoirRefreshAmount": 200, "reservoirRefreshInterval": 500'

REFERENCE = [
    penstock("pacer", Setting((PACER,)), about(4000, 4), even_gaps, fair, few_calls(0.2)),
    penstock("tokenBucket", Setting((BUCKET,)), about(4000, 4), fair, few_calls(0.2)),
    bottleneck("Bottleneck, minTime", '{"minTime": 2.5}'),
    penstock("window", Setting((WINDOW,)), full_windows, fair, few_calls(0.2)),
    penstock("counter", Setting((COUNTER,)), full_resets, fair, few_calls(0.2)),
    penstock("slidingWindow", Setting((SLIDING,)), over_at_no_time,
             over_at_no_time_once_warm, hardly_unused, fair, few_calls(0.2)),
    bottleneck("Bottleneck, reservoir", f"{{{RESERVOIR}}}"),
    bottleneck("Bottleneck, reservoir, heartbeat 250 ms", f'{{{RESERVOIR}, "heartbeatInterval": 250}}'),
]

FURTHER = [
    penstock("pacer, one process", Setting((PACER,), processes=1), about(4000, 4), even_gaps),
    penstock("window, one process", Setting((WINDOW,), processes=1, workers=150), full_windows),
    penstock("pacer, 16 processes, 60 s", Setting((PACER,), processes=16, seconds=60), about(24000, 24), fair),
    penstock("window, 16 processes, 60 s", Setting((WINDOW,), processes=16, seconds=60), full_windows, nobody_starved),
    penstock("pacer, 0.2/1/5 ms", Setting((PACER,), delays=DISTANCES), about(4000, 4), fair),
    penstock("window, 0.2/1/5 ms", Setting((WINDOW,), delays=DISTANCES), full_windows, nobody_starved),
    penstock("pacer, clocks ±10 s", Setting((PACER,), clocks=(-10, 0, 10)), about(4000, 4), fair),
    penstock("window, clocks ±10 s", Setting((WINDOW,), clocks=(-10, 0, 10)), full_windows),
    Scenario("pacer, one cut off from Redis", cut_one_off(Setting((PACER,), delays=(0,))),
             all_of(within_what_a_lost_process_may, nobody_starved)),
    Scenario("100 groups, 10 per 10 s each, under 50/s, 4 processes, 60 s",
             lambda tools: run_visitors(tools, GROUPS, Crowd(per_second=100, groups=100)), groups_served),
    Scenario("one per s, clients leave after 2 s, 100 s",
             lambda tools: run_visitors(tools, MINUTES, Crowd(per_second=3, patience=2)), minutes_used),
]
