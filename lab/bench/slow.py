# SPDX-License-Identifier: Apache-2.0
"""What slow clients cost the others: the same load without them and with them, and how late the loop's turns came.
Called by script/bench, which builds first."""

import contextlib
import json
import re
import statistics
import time
import urllib.request

from command import options, publish
from measures import expect, measure, median_of
from page import joined, judged, table, thousands
from processes import Process
from proxies import Bench
from runs import machine, result_of, say


HEADS, BODIES, READERS = 2000, 2000, 1000  # that say a head, or a body, a byte a second; that read nothing
AIM = 2  # × the p99 without them


def lag_of(proxy):
    """Turns of the loop in all, and those later than 50 ms."""
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(
            f"http://127.0.0.1:{proxy.admin_port}/metrics") as page:
        text = page.read().decode()
    found = {name: float(re.search(rf"^penstock_loop_lag_seconds_{name} (\S+)$", text, re.M).group(1))
             for name in ("count", r'bucket\{le="0\.05"\}')}
    turns, in_time = found.values()
    return turns, turns - in_time


def sample(bench, proxy, origin, chosen):
    before = lag_of(proxy)
    measured = measure(bench, proxy, origin, chosen.clients, chosen.warm_up, chosen.seconds)
    return measured, [now - then for now, then in zip(lag_of(proxy), before)]


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
                         *map(str, (proxy.port, HEADS, BODIES, READERS))], bench.load_core))
                    expect(crowd.line(), "ready")
                    time.sleep(1)
                measured, lag = sample(bench, proxy, origin, chosen)
                samples[slow].append(measured)
                lags[slow].append(lag)
            let_go += json.loads(crowd.last_words())["let_go"]
    others = statistics.median(one.others for one in samples[False])
    medians = {slow: median_of(some) for slow, some in samples.items()}
    return joined(sections(machine(bench, chosen, others), chosen.clients, medians, lags, let_go))


def sections(where, clients, medians, lags, let_go):
    """`medians` and `lags`: without (False) and with (True) the crowd."""
    yield where
    yield (f"{clients} clients that ask without a pause, beside nobody and beside a crowd. Of the crowd {HEADS} say a "
           f"head and {BODIES} a body, each a byte a second, and {READERS} read nothing of an endless answer. Those that "
           f"Penstock let go meanwhile ({let_go} in all rounds) came back at once.")
    rows = []
    for slow, words in ((False, "nobody"), (True, f"{HEADS + BODIES + READERS} slow clients")):
        one, (turns, late) = medians[slow], map(sum, zip(*lags[slow]))
        rows.append([words, thousands(one.per_second), f"{one.p50_us:.0f}", f"{one.p99_us:.0f}", f"{one.proxy_core:.0%}",
                     f"{late:.0f} of {turns:.0f}"])
    yield table(["beside", "requests/s", "p50 µs", "p99 µs", "its core", "turns over 50 ms late"], rows, left=1)
    yield from judged([(f"p99 beside slow clients: at most {AIM} × that without",
                        medians[True].p99_us / medians[False].p99_us, AIM, "{:.2f} ×")])


CHOSEN = options("script/bench slow", __doc__, rounds=5, seconds=5, warm_up=0.3, clients=16, proxies=["Penstock"])
publish(result_of(lambda: run(CHOSEN)), "slow", CHOSEN)
