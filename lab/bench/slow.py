# SPDX-License-Identifier: Apache-2.0
"""What slow clients cost the others: the same load without them and with them, and how late the loop's turns came.
Called by script/bench, which builds first."""

import contextlib
import json
import re
import statistics
import time
import urllib.request

from command import add_number, add_rounds, parser_of, publish
from measures import expect, measure, median_of
from processes import Process
from proxies import Bench
from runs import machine, result_of, say
from slow_page import Lag, text_of


def options():
    parser = parser_of("script/bench slow", __doc__)
    add_rounds(parser, 5, "without and with them", 5, 0.3)
    add_number(parser, "--clients", 16, "of the load that is measured")
    add_number(parser, "--heads", 2000, "that say a head, a byte a second")
    add_number(parser, "--bodies", 2000, "that say a body, a byte a second")
    add_number(parser, "--readers", 1000, "that read nothing of an endless answer")
    chosen = parser.parse_args()
    chosen.proxies = ["Penstock"]
    return chosen


def lag_of(proxy):
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(
            f"http://127.0.0.1:{proxy.admin_port}/metrics") as page:
        text = page.read().decode()
    found = {name: float(re.search(rf"^penstock_loop_lag_seconds_{name} (\S+)$", text, re.M).group(1))
             for name in ("count", r'bucket\{le="0\.05"\}')}
    turns, in_time = found.values()
    return Lag(turns, turns - in_time)


def sample(bench, proxy, origin, chosen):
    before = lag_of(proxy)
    measured = measure(bench, proxy, origin, chosen.clients, chosen.warm_up, chosen.seconds)
    return measured, lag_of(proxy).since(before)


def run(chosen):
    bench = Bench(chosen.build.resolve())
    samples = {False: [], True: []}
    lags = {False: [], True: []}
    let_go = 0
    for turn in range(chosen.rounds):
        say(f"round {turn + 1} of {chosen.rounds}")
        with contextlib.ExitStack() as running:
            origin = running.enter_context(bench.origin())
            proxy = running.enter_context(bench.proxy("Penstock", origin, max_concurrent=10_000))
            for slow in (False, True):
                if slow:
                    crowd = running.enter_context(Process(
                        [str(bench.build / "lab/bench/bench_slow"),
                         *map(str, (proxy.port, chosen.heads, chosen.bodies, chosen.readers))], bench.load_core))
                    expect(crowd.line(), "ready")
                    time.sleep(1)
                measured, lag = sample(bench, proxy, origin, chosen)
                samples[slow].append(measured)
                lags[slow].append(lag)
            let_go += json.loads(crowd.last_words())["let_go"]
    others = statistics.median(one.others for one in samples[False])
    crowd = (chosen.heads, chosen.bodies, chosen.readers)
    medians = {slow: median_of(some) for slow, some in samples.items()}
    return text_of(machine(bench, chosen, others), chosen.clients, crowd, medians, lags, let_go)


def main():
    chosen = options()
    text = result_of(lambda: run(chosen))
    complete = (chosen.clients, chosen.heads, chosen.bodies, chosen.readers) == (16, 2000, 2000, 1000)
    publish(text, "slow", chosen, complete)


main()
