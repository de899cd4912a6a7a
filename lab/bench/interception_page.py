# SPDX-License-Identifier: Apache-2.0
"""What it costs to open https, as Markdown tables for docs/performance.md. For the programs of this folder only."""

import dataclasses

import measures
from page import OURS, bound_by_load, table, times

WAYS = {"kept": "kept", "new": "one each"}  # as bench_tls_load names them, and as the tables do


@dataclasses.dataclass(frozen=True)
class Sample(measures.Sample):
    upstream: float  # connections that the origin saw for one request


def sample_rows(samples):
    for (way, proxy), sample in samples.items():
        yield [WAYS[way], proxy, f"{sample.cpu_us:.0f}",
               f"{sample.per_second:,.0f}".replace(",", " ") + (" †" if bound_by_load(sample) else ""),
               f"{sample.p50_us:.0f}", f"{sample.p99_us:.0f}", f"{sample.upstream:.2f}",
               f"{sample.proxy_core:.0%}", f"{sample.load_core:.0%}"]


def ratio_rows(samples):
    fields = ("cpu_us", "per_second", "p50_us", "p99_us")
    for (way, peer), theirs in samples.items():
        if peer != OURS and (ours := samples.get((way, OURS))):
            yield [WAYS[way], peer, *(times(getattr(ours, field) / getattr(theirs, field)) for field in fields)]


def agreed_text(agreed):
    """`agreed`: proxy → what TLS the client and the proxy agreed on."""
    kinds = dict.fromkeys(agreed.values())
    told = (kind if len(kinds) == 1 else f"{kind} ({', '.join(name for name in agreed if agreed[name] == kind)})"
            for kind in kinds)
    return f"TLS of the client, and the key of the certificate that it gets: {'; '.join(told)}."


def text_of(machine, clients, samples, agreed):
    """`samples`: (way, proxy) → Sample."""
    head = ["connections", "proxy", "CPU µs/request", "requests/s", "p50 µs", "p99 µs", "upstream connections/request",
            "its core", "load's core"]
    parts = [f"{machine} {clients} clients at once. {agreed_text(agreed)}", table(head, list(sample_rows(samples)))]
    if any(map(bound_by_load, samples.values())):
        parts.append("† The core of load and origin is the bound here, not the proxy.")
    if rows := list(ratio_rows(samples)):
        parts += ["Penstock's figure divided by the other's:",
                  table(["connections", "against", "CPU", "requests/s", "p50", "p99"], rows)]
    return "\n\n".join(parts) + "\n"
