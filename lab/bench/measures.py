# SPDX-License-Identifier: Apache-2.0
"""What is measured: one proxy under one load, and the memory of requests that wait. Judges no figure.
For the programs of this folder only."""

import dataclasses
import json
import statistics
import time

from processes import Failed, busy_seconds_of_machine, cpu_seconds, resident_bytes, until


@dataclasses.dataclass(frozen=True)
class Sample:
    requests: int      # with those of the warm-up
    cpu_us: float      # user and system time of all the proxy's processes for one request
    per_second: float
    p50_us: float
    p99_us: float
    proxy_core: float  # the proxy's use of its core, 1 is all of it
    load_core: float   # the same of load and origin
    others: float      # cores that nobody of ours used, yet somebody did


def median_of(samples):
    columns = zip(*map(dataclasses.astuple, samples))
    return type(samples[0])(*map(statistics.median, columns))


def expect(line, wanted):
    if line != wanted:
        raise Failed(f"expected the line '{wanted}', got '{line}'")


@dataclasses.dataclass(frozen=True)
class Spent:
    """CPU seconds while a load was on."""
    own: float     # by all the proxy's processes
    ours: float    # by the load and the origin
    others: float  # by whoever else


def told(proxy, load, *ours):
    """Lets a load that is ready begin; what it says then, and what was spent meanwhile. `ours` are load and origin."""
    def costs():
        return cpu_seconds(proxy.pid), sum(cpu_seconds(process.pid) for process in ours), busy_seconds_of_machine()

    expect(load.line(), "ready")
    before = costs()
    load.tell("")
    result = json.loads(load.line())
    own, ours, all_of_it = (b - a for a, b in zip(before, costs()))
    return result, Spent(own, ours, all_of_it - own - ours)


def measure(bench, proxy, origin, clients, warm_up, seconds):
    proxy.empty_log()
    with bench.load("loop", proxy.port, origin, clients, warm_up, seconds) as load:
        result, spent = told(proxy, load, load, origin)
    return sample_of(proxy, result, spent)


def sample_of(proxy, result, spent):
    proxy.check()
    check_log(proxy, result["with_warm_up"])
    elapsed = result["seconds"]
    return Sample(result["with_warm_up"], spent.own / result["requests"] * 1e6, result["requests"] / elapsed,
                  result["p50_us"], result["p99_us"], spent.own / elapsed, spent.ours / elapsed,
                  spent.others / elapsed)


def check_log(proxy, requests):
    """A proxy that writes no log, or throws lines away, is not compared. Some keep the last lines for a second."""
    lines, wanted = proxy.log_lines(), proxy.recipe.lines * requests
    if lines < 0.8 * wanted:
        raise Failed(f"{proxy.recipe.name} logged {lines} lines, not {wanted}, for {requests} requests")


def settled(read):
    """Reads until half a second has brought no change."""
    recent = []

    def unchanged():
        time.sleep(0.05)
        recent.append(read())
        return len(recent) > 10 and len(set(recent[-10:])) == 1

    until(unchanged, "memory to settle")
    return recent[-1]


def bytes_per_pending(bench, name, pending, at_once=10):
    """`pending` requests at a proxy that may have `at_once` of them in flight, at an origin that keeps its answers."""
    with bench.origin() as origin, bench.proxy(name, origin, max_concurrent=at_once) as proxy:
        measure(bench, proxy, origin, at_once, 0.2, 0.1)
        origin.tell("hold")
        before = settled(lambda: resident_bytes(proxy.pid))
        with bench.load("pending", proxy.port, origin, pending) as load:
            expect(load.line(), "sent")
            after = settled(lambda: resident_bytes(proxy.pid))
            origin.tell("answer")
            answered = json.loads(load.line())["requests"]
        check_that_they_waited(name, answered, pending, origin.seen()["most_held"], at_once)
    return (after - before) / pending


def check_that_they_waited(name, answered, pending, most_held, at_once):
    if answered != pending or most_held != at_once:
        raise Failed(f"{name}: {answered} of {pending} answered, {most_held} at the origin at once, not {at_once}")
