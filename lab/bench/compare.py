# SPDX-License-Identifier: Apache-2.0
"""Penstock beside nginx, HAProxy and Squid, in one run on one machine. Called by script/bench, which builds first."""

import contextlib
import statistics

from command import options, publish
from measures import bytes_per_pending, measure, median_of
from page import OURS, compared, joined, judged, ratio, table, times
from processes import Failed
from proxies import RECIPES, Bench
from runs import machine, result_of, say

QUEUES = ("Penstock", "HAProxy")  # those that let requests wait
CLIENTS = [1, 16, 64, 128]
PENDING = 9000  # requests that wait, for memory


def throughput(bench, chosen):
    """In turn: every proxy once at every load, then again. What disturbs a round disturbs all proxies alike."""
    samples = {}
    with contextlib.ExitStack() as running:
        origin = running.enter_context(bench.origin())
        proxies = [running.enter_context(bench.proxy(name, origin)) for name in chosen.proxies]
        for turn in range(chosen.rounds):
            for clients in CLIENTS:
                say(f"round {turn + 1} of {chosen.rounds}, {clients} clients")
                for proxy in proxies:
                    sample = measure(bench, proxy, origin, clients, chosen.warm_up, chosen.seconds)
                    samples.setdefault((clients, proxy.recipe.name), []).append(sample)
        check_origin(origin.seen()["requests"], sum(sample.requests for taken in samples.values() for sample in taken))
    return samples


def check_origin(seen, answered):
    if seen != answered:
        raise Failed(f"the origin saw {seen} requests, the clients {answered} answers: somebody caches or repeats")


def memory(bench):
    sizes = {}
    for turn in range(3):
        for name in QUEUES:
            say(f"memory of {PENDING} pending requests, {turn + 1} of 3: {name}")
            sizes.setdefault(name, []).append(bytes_per_pending(bench, name, PENDING))
    return {name: statistics.median(taken) for name, taken in sizes.items()}


def aims(samples, sizes):
    cpu = "CPU a request at 64 clients: at most"
    yield f"{cpu} 2.5 × nginx's", ratio(samples, (64, OURS), (64, "nginx"), "cpu_us"), 2.5, "{:.2f} ×"
    yield f"{cpu} 0.6 × Squid's", ratio(samples, (64, OURS), (64, "Squid"), "cpu_us"), 0.6, "{:.2f} ×"
    latency = ratio(samples, (1, OURS), (1, "HAProxy"), "p50_us")
    yield "p50 at one client: at most 1.25 × HAProxy's", latency, 1.25, "{:.2f} ×"
    yield "memory a pending request: at most 3 KB", sizes[OURS] / 1000, 3, "{:.1f} KB"


def sections(where, samples, sizes):
    yield where
    yield from compared("clients", samples)
    yield f"Memory of one pending request, with {PENDING} of them (nginx and Squid have no such queue):"
    yield table(["proxy", "resident", "Penstock ÷ it"],
                [[name, f"{size / 1000:.1f} KB", times(sizes[OURS] / size)] for name, size in sizes.items()], left=1)
    yield from judged(aims(samples, sizes))


def run(chosen):
    bench = Bench(chosen.build.resolve())
    for name in chosen.proxies:
        bench.program_of(name)
    taken = throughput(bench, chosen)
    others = statistics.median(sample.others for samples in taken.values() for sample in samples)
    samples = {key: median_of(some) for key, some in taken.items()}
    return joined(sections(machine(bench, chosen, others), samples, memory(bench)))


CHOSEN = options("script/bench", __doc__, rounds=5, seconds=2, warm_up=0.3,
                 proxies=[name for name in RECIPES if name != "mitmproxy"])  # which opens https, see interception.py
publish(result_of(lambda: run(CHOSEN)), "figures", CHOSEN)
