# SPDX-License-Identifier: Apache-2.0
"""What tunnels cost, as Markdown tables for docs/performance.md. For the programs of this folder only."""

import dataclasses

from page import OURS, bound_by_load, table, times

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


def dagger(sample):
    return " †" if bound_by_load(sample) else ""


def cores(sample):
    return [f"{sample.proxy_core:.0%}", f"{sample.load_core:.0%}"]


def flow_rows(flows):
    for (flow, proxy), sample in flows.items():
        yield [*flow.words(), proxy, f"{sample.cpu_per_gib:.2f}", f"{sample.gib_per_second:.2f}{dagger(sample)}",
               *cores(sample)]


def churn_rows(churns):
    for proxy, sample in churns.items():
        yield [proxy, f"{sample.cpu_us:.1f}", f"{sample.per_second:,.0f}".replace(",", " ") + dagger(sample),
               f"{sample.p50_us:.0f}", f"{sample.p99_us:.0f}", *cores(sample)]


def ratio(samples, key, peer_key, field):
    ours, theirs = samples.get(key), samples.get(peer_key)
    return getattr(ours, field) / getattr(theirs, field) if ours and theirs and getattr(theirs, field) else None


def ratio_rows(flows, churns):
    for flow, peer in flows:
        if peer != OURS and (flow, OURS) in flows:
            yield [*flow.words(), peer, *(times(ratio(flows, (flow, OURS), (flow, peer), field))
                                          for field in ("cpu_per_gib", "gib_per_second"))]
    for peer in churns:
        if peer != OURS and OURS in churns:
            yield ["opened and closed", "", peer, *(times(ratio(churns, OURS, peer, field))
                                                    for field in ("cpu_us", "per_second"))]


def aim_rows(flows):
    for flow in dict.fromkeys(flow for flow, _ in flows):
        measured = ratio(flows, (flow, OURS), (flow, "HAProxy"), "cpu_per_gib")
        if measured is not None:
            way, write = flow.words()
            yield [f"CPU per GiB {way}, writes of {write}: at most {AIM} × HAProxy's",
                   "met" if measured <= AIM else "**missed**", f"{measured:.2f} ×"]


def text_of(machine, tunnels, flows, churns, at_once):
    """`flows`: (Flow, proxy) → FlowSample; `churns`: proxy → ChurnSample."""
    parts = [machine]
    if flows:
        parts += [f"Bytes through {tunnels} tunnels at once:",
                  table(["bytes", "writes of", "proxy", "CPU s/GiB", "GiB/s", "its core", "load's core"],
                        list(flow_rows(flows)), left=3)]
    if churns:
        parts += [f"Tunnels opened, tried by a byte there and back, and closed; {at_once} at once:",
                  table(["proxy", "CPU µs/tunnel", "tunnels/s", "p50 µs", "p99 µs", "its core", "load's core"],
                        list(churn_rows(churns)), left=1)]
    if rows := list(ratio_rows(flows, churns)):
        parts += ["Penstock's figure divided by the other's:",
                  table(["bytes", "writes of", "against", "CPU", "GiB/s, tunnels/s"], rows, left=3)]
    if rows := list(aim_rows(flows)):
        parts.append(table(["aim", "", "measured"], rows))
    return "\n\n".join(parts) + "\n"
