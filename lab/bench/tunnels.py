# SPDX-License-Identifier: Apache-2.0
"""Tunnels through Penstock, HAProxy (TCP mode) and Squid, in one run on one machine. Called by script/bench, which
builds first."""

import contextlib
import dataclasses
import statistics

from command import options, publish
from measures import check_log, median_of, told
from page import OURS, against_others, cores, dagger, joined, judged, ratio, table, thousands
from proxies import TUNNEL_RECIPES, Bench
from runs import machine, result_of, say

GIB = 1 << 30
AIM = 1.2  # × HAProxy's CPU for each GiB
WAYS = {"down": "to the client", "up": "to the upstream", "both": "both ways"}


@dataclasses.dataclass(frozen=True)
class Flow:
    direction: str
    write: int  # bytes

    def words(self):
        return [WAYS[self.direction], f"{self.write // 1024} KiB"]


@dataclasses.dataclass(frozen=True)
class FlowSample:
    cpu_per_gib: float  # seconds of all the proxy's processes
    gib_per_second: float
    proxy_core: float   # as in measures.Sample
    load_core: float
    others: float


@dataclasses.dataclass(frozen=True)
class ChurnSample:
    cpu_us: float  # for one tunnel
    per_second: float
    p50_us: float  # from connecting to the first byte back
    p99_us: float
    proxy_core: float
    load_core: float
    others: float


FLOWS = [Flow(direction, write) for write in (64 * 1024, 1024) for direction in ("down", "up", "both")]


def order(what, proxy, *words):
    way = "plain" if proxy.recipe.name == "HAProxy" else "connect"
    return " ".join(map(str, [what, proxy.port, way, *words]))


def flow_sample(proxy, far_end, flow, chosen):
    far_end.tell(order("flow", proxy, chosen.tunnels, flow.write, flow.direction, chosen.warm_up, chosen.seconds))
    result, spent = told(proxy, far_end, far_end)
    proxy.check()
    elapsed = result["seconds"]
    return FlowSample(spent.own / result["bytes"] * GIB, result["bytes"] / GIB / elapsed, spent.own / elapsed,
                      spent.ours / elapsed, spent.others / elapsed)


def churn_sample(proxy, far_end, chosen):
    proxy.empty_log()
    far_end.tell(order("churn", proxy, chosen.at_once, chosen.warm_up, chosen.seconds))
    result, spent = told(proxy, far_end, far_end)
    proxy.check()
    check_log(proxy, result["with_warm_up"])
    elapsed = result["seconds"]
    return ChurnSample(spent.own / result["tunnels"] * 1e6, result["tunnels"] / elapsed, result["p50_us"],
                       result["p99_us"], spent.own / elapsed, spent.ours / elapsed, spent.others / elapsed)


def run(chosen):
    """In turn: every proxy once in every way, then again. What disturbs a round disturbs all proxies alike."""
    bench = Bench(chosen.build.resolve())
    flows, churns = {}, {}
    with contextlib.ExitStack() as running:
        far_end = running.enter_context(bench.far_end())
        proxies = [running.enter_context(bench.proxy(name, far_end, recipes=TUNNEL_RECIPES)) for name in chosen.proxies]
        for turn in range(chosen.rounds):
            say(f"round {turn + 1} of {chosen.rounds}")
            for flow in FLOWS:
                for proxy in proxies:
                    flows.setdefault((flow, proxy.recipe.name), []).append(flow_sample(proxy, far_end, flow, chosen))
            for proxy in proxies:
                churns.setdefault(proxy.recipe.name, []).append(churn_sample(proxy, far_end, chosen))
    others = statistics.median(sample.others for samples in (*flows.values(), *churns.values()) for sample in samples)
    flows = {key: median_of(samples) for key, samples in flows.items()}
    churns = {("opened and closed", name): median_of(samples) for name, samples in churns.items()}
    return joined(sections(machine(bench, chosen, others), chosen, flows, churns))


def sections(where, chosen, flows, churns):
    """`flows`: (Flow, proxy) → FlowSample; `churns`: (words, proxy) → ChurnSample."""
    yield where
    yield f"Bytes through {chosen.tunnels} tunnels at once:"
    yield table(["bytes", "writes of", "proxy", "CPU s/GiB", "GiB/s", "its core", "load's core"],
                [[*flow.words(), proxy, f"{one.cpu_per_gib:.2f}", f"{one.gib_per_second:.2f}{dagger(one)}", *cores(one)]
                 for (flow, proxy), one in flows.items()], left=3)
    yield f"Tunnels opened, tried by a byte there and back, and closed; {chosen.at_once} at once:"
    yield table(["proxy", "CPU µs/tunnel", "tunnels/s", "p50 µs", "p99 µs", "its core", "load's core"],
                [[proxy, f"{one.cpu_us:.1f}", thousands(one.per_second) + dagger(one), f"{one.p50_us:.0f}",
                  f"{one.p99_us:.0f}", *cores(one)] for (_, proxy), one in churns.items()], left=1)
    yield "Penstock's figure divided by the other's:"
    yield table(["bytes", "writes of", "against", "CPU", "GiB/s, tunnels/s"],
                against_others(flows, ("cpu_per_gib", "gib_per_second"), Flow.words)
                + against_others(churns, ("cpu_us", "per_second"), lambda words: [words, ""]), left=3)
    yield from judged((f"CPU per GiB {flow.words()[0]}, writes of {flow.words()[1]}: at most {AIM} × HAProxy's",
                       ratio(flows, (flow, OURS), (flow, "HAProxy"), "cpu_per_gib"), AIM, "{:.2f} ×")
                      for flow in dict.fromkeys(flow for flow, _ in flows))


CHOSEN = options("script/bench tunnels", __doc__, rounds=5, seconds=2, warm_up=0.3, tunnels=16, at_once=64,
                 proxies=list(TUNNEL_RECIPES))
publish(result_of(lambda: run(CHOSEN)), "tunnels", CHOSEN)
