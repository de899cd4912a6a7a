# SPDX-License-Identifier: Apache-2.0
"""Tunnels through Penstock, HAProxy (TCP mode) and Squid, in one run on one machine. Called by script/bench, which
builds first."""

import contextlib
import statistics

from command import add_list, add_number, add_rounds, parser_of, publish
from measures import check_log, median_of, told
from proxies import TUNNEL_RECIPES, Bench
from runs import machine, result_of, say
from tunnel_page import ChurnSample, Flow, FlowSample, text_of

GIB = 1 << 30
FLOWS = [Flow(direction, write) for write in (64 * 1024, 1024) for direction in ("down", "up", "both")]


def options():
    parser = parser_of("script/bench tunnels", __doc__)
    add_rounds(parser, 5, "every proxy in every way", 2, 0.3)
    add_number(parser, "--tunnels", 16, "that carry bytes at once")
    add_number(parser, "--at-once", 64, "that are opened and closed at once")
    add_list(parser, "--proxies", list(TUNNEL_RECIPES))
    return parser.parse_args()


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
    return text_of(machine(bench, chosen, others), chosen.tunnels,
                   {key: median_of(samples) for key, samples in flows.items()},
                   {key: median_of(samples) for key, samples in churns.items()}, chosen.at_once)


def main():
    chosen = options()
    text = result_of(lambda: run(chosen))
    complete = (chosen.tunnels, chosen.at_once, chosen.proxies) == (16, 64, list(TUNNEL_RECIPES))
    publish(text, "tunnels", chosen, complete)


main()
