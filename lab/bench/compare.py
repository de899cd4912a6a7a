# SPDX-License-Identifier: Apache-2.0
"""Penstock beside nginx, HAProxy and Squid, in one run on one machine. Called by script/bench, which builds first."""

import contextlib
import statistics

from command import add_list, add_number, add_rounds, parser_of, publish
from measures import bytes_per_pending, measure, median_of
from page import Figures, text_of
from processes import Failed
from proxies import RECIPES, Bench
from runs import machine, result_of, say

QUEUES = ("Penstock", "HAProxy")  # those that let requests wait
CLIENTS = [1, 16, 64, 128]
PEERS_IN_THE_CLEAR = [name for name in RECIPES if name != "mitmproxy"]  # which opens https, see interception.py


def options():
    parser = parser_of("script/bench", __doc__)
    add_rounds(parser, 5, "every proxy at every load", 2, 0.3)
    parser.add_argument("--long", action="store_true", help="15 rounds of 4 seconds: 18 minutes instead of 4")
    add_list(parser, "--clients", CLIENTS)
    add_list(parser, "--proxies", PEERS_IN_THE_CLEAR)
    add_number(parser, "--pending", 9000, "requests that wait, for memory; 0 for none")
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


def main():
    chosen = options()
    text = result_of(lambda: text_of(run(chosen)))
    publish(text, "figures", chosen,
            (chosen.clients, chosen.proxies, chosen.pending) == (CLIENTS, list(RECIPES), 9000))


main()
