# SPDX-License-Identifier: Apache-2.0
"""What TLS to the upstream costs, as Markdown tables for docs/performance.md. For the programs of this folder only."""

from page import OURS, bound_by_load, table, times

AIM = 1.2  # × the ratio to nginx for plain HTTP
PEER = "nginx"


def sample_rows(samples):
    for (scheme, proxy), sample in samples.items():
        yield [scheme, proxy, f"{sample.cpu_us:.1f}",
               f"{sample.per_second:,.0f}".replace(",", " ") + (" †" if bound_by_load(sample) else ""),
               f"{sample.p50_us:.0f}", f"{sample.p99_us:.0f}", f"{sample.proxy_core:.0%}", f"{sample.load_core:.0%}"]


def ratio(samples, scheme, peer, field="cpu_us"):
    ours, theirs = samples.get((scheme, OURS)), samples.get((scheme, peer))
    return getattr(ours, field) / getattr(theirs, field) if ours and theirs else None


def ratio_rows(samples):
    for scheme, peer in samples:
        if peer != OURS and (scheme, OURS) in samples:
            fields = ("cpu_us", "per_second", "p50_us", "p99_us")
            yield [scheme, peer, *(times(ratio(samples, scheme, peer, field)) for field in fields)]


def aim_rows(samples):
    plain, tls = ratio(samples, "http", PEER), ratio(samples, "https", PEER)
    if plain and tls:
        yield [f"CPU a request beside {PEER}'s: with TLS at most {AIM} times what it is without",
               "met" if tls / plain <= AIM else "**missed**", f"{tls:.2f} ÷ {plain:.2f} = {tls / plain:.2f}"]


def text_of(machine, samples):
    """`samples`: (scheme to the upstream, proxy) → measures.Sample."""
    head = ["upstream", "proxy", "CPU µs/request", "requests/s", "p50 µs", "p99 µs", "its core", "load's core"]
    parts = [machine, table(head, list(sample_rows(samples)))]
    if rows := list(ratio_rows(samples)):
        parts += ["Penstock's figure divided by the other's:",
                  table(["upstream", "against", "CPU", "requests/s", "p50", "p99"], rows)]
    if rows := list(aim_rows(samples)):
        parts.append(table(["aim", "", "measured"], rows))
    return "\n\n".join(parts) + "\n"
