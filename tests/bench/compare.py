# SPDX-License-Identifier: Apache-2.0
"""Penstock beside nginx, HAProxy and Squid, in one run on one machine. Called by script/bench, which builds first."""

import argparse
import contextlib
import pathlib
import statistics

from measures import bytes_per_pending, measure, median_of
from page import Figures, put, text_of
from processes import Failed
from proxies import RECIPES, Bench
from runs import machine, result_of, say

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/performance.md"
QUEUES = ("Penstock", "HAProxy")  # those that let requests wait
CLIENTS = [1, 16, 64, 128]


def list_of(kind):
    return lambda text: [kind(word) for word in text.split(",")]


def options():
    parser = argparse.ArgumentParser(prog="script/bench", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="each measures every proxy at every load; 5")
    parser.add_argument("--seconds", type=float, default=2, help="of each measurement; 2")
    parser.add_argument("--warm-up", type=float, default=0.3, help="seconds before each measurement; 0.3")
    parser.add_argument("--long", action="store_true", help="15 rounds of 4 seconds: 18 minutes instead of 4")
    parser.add_argument("--clients", type=list_of(int), default=CLIENTS, help="1,16,64,128")
    parser.add_argument("--proxies", type=list_of(str), default=list(RECIPES), help="Penstock,nginx,HAProxy,Squid")
    parser.add_argument("--pending", type=int, default=9000, help="requests that wait, for memory; 0 for none; 9000")
    parser.add_argument("--print-only", action="store_true", help="leave docs/performance.md as it is")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release", help="where the programs are")
    chosen = parser.parse_args()
    if chosen.long:
        chosen.rounds, chosen.seconds = 15, 4
    return chosen


def throughput(bench, chosen):
    """In turn: every proxy once at every load, then again. What disturbs a round disturbs all proxies alike."""
    samples = {}
    with contextlib.ExitStack() as running:
        origin = running.enter_context(bench.origin())
        proxies = [running.enter_context(bench.proxy(name, origin)) for name in chosen.proxies]
        for turn in range(chosen.rounds):
            for clients in chosen.clients:
                say(f"round {turn + 1} of {chosen.rounds}, {clients} clients")
                for proxy in proxies:
                    sample = measure(bench, proxy, origin, clients, chosen.warm_up, chosen.seconds)
                    samples.setdefault((proxy.recipe.name, clients), []).append(sample)
        check_origin(origin.seen()["requests"], sum(sample.requests for taken in samples.values() for sample in taken))
    return samples


def check_origin(seen, answered):
    if seen != answered:
        raise Failed(f"the origin saw {seen} requests, the clients {answered} answers: somebody caches or repeats")


def memory(bench, chosen):
    sizes = {}
    for turn in range(3 if chosen.pending else 0):
        for name in filter(QUEUES.__contains__, chosen.proxies):
            say(f"memory of {chosen.pending} pending requests, {turn + 1} of 3: {name}")
            sizes.setdefault(name, []).append(bytes_per_pending(bench, name, chosen.pending))
    return {name: statistics.median(taken) for name, taken in sizes.items()}


def run(chosen):
    bench = Bench(chosen.build.resolve())
    for name in chosen.proxies:
        bench.program_of(name)
    taken = throughput(bench, chosen)
    others = statistics.median(sample.others for samples in taken.values() for sample in samples)
    sizes = memory(bench, chosen)
    return Figures(machine(bench, chosen, others), {key: median_of(samples) for key, samples in taken.items()},
                   chosen.pending, sizes)


def publish(text, chosen):
    complete = chosen.clients == CLIENTS and chosen.proxies == list(RECIPES) and chosen.pending == 9000
    if chosen.print_only or not complete:
        return
    PAGE.write_text(put(text, PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    print(f"Written to {PAGE.relative_to(ROOT)}.")


def main():
    chosen = options()
    text = result_of(lambda: text_of(run(chosen)))
    print(text)
    publish(text, chosen)


main()
