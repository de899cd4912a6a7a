# SPDX-License-Identifier: Apache-2.0
"""Figures as Markdown tables, and their place in docs/performance.md. For the programs of this folder only."""

import dataclasses

BEGIN = "<!-- {}: begin (script/bench writes what stands between) -->"
END = "<!-- {}: end -->"
OURS = "Penstock"


@dataclasses.dataclass
class Figures:
    machine: str   # where and with what versions, a sentence
    samples: dict  # (proxy, clients) → Sample
    pending: int
    memory: dict   # proxy → bytes a pending request

    def proxies(self):
        return list(dict.fromkeys(proxy for proxy, _ in self.samples))

    def clients(self):
        return list(dict.fromkeys(clients for _, clients in self.samples))

    def ratio(self, field, clients, peer):
        ours, theirs = self.samples.get((OURS, clients)), self.samples.get((peer, clients))
        return getattr(ours, field) / getattr(theirs, field) if ours and theirs and getattr(theirs, field) else None


def table(head, rows, left=2):
    """Columns as wide as their widest cell; the first `left` of them to the left, figures to the right."""
    cells = [head, *rows]
    widths = [max(map(len, column)) for column in zip(*cells)]

    def line(row):
        return "| " + " | ".join(cell.ljust(width) if at < left else cell.rjust(width)
                                 for at, (cell, width) in enumerate(zip(row, widths))) + " |"

    rule = "|".join("-" * (width + 2) if at < left else "-" * (width + 1) + ":" for at, width in enumerate(widths))
    return "\n".join([line(head), f"|{rule}|", *map(line, rows)])


def bound_by_load(sample):
    return sample.load_core > 0.95 and sample.proxy_core < 0.95


def times(ratio):
    return "–" if ratio is None else f"{ratio:.2f}"


def sample_rows(figures):
    for clients in figures.clients():
        for proxy in figures.proxies():
            sample = figures.samples[proxy, clients]
            yield [str(clients), proxy, f"{sample.cpu_us:.1f}",
                   f"{sample.per_second:,.0f}".replace(",", " ") + (" †" if bound_by_load(sample) else ""),
                   f"{sample.p50_us:.0f}", f"{sample.p99_us:.0f}",
                   f"{sample.proxy_core:.0%}", f"{sample.load_core:.0%}"]


def ratio_rows(figures):
    peers = [proxy for proxy in figures.proxies() if proxy != OURS]
    fields = ("cpu_us", "per_second", "p50_us", "p99_us")
    for clients in figures.clients():
        for peer in peers:
            yield [str(clients), peer, *(times(figures.ratio(field, clients, peer)) for field in fields)]


def memory_rows(figures):
    for proxy, size in figures.memory.items():
        ratio = figures.memory[OURS] / size if OURS in figures.memory else None
        yield [proxy, f"{size / 1000:.1f} KB", times(ratio)]


def aim_rows(figures):
    def row(aim, measured, most, shown):
        if measured is not None:
            yield [aim, "met" if measured <= most else "**missed**", shown.format(measured)]

    cpu = "CPU a request at 64 clients: at most"
    yield from row(f"{cpu} 2.5 × nginx's", figures.ratio("cpu_us", 64, "nginx"), 2.5, "{:.2f} ×")
    yield from row(f"{cpu} 0.6 × Squid's", figures.ratio("cpu_us", 64, "Squid"), 0.6, "{:.2f} ×")
    latency = figures.ratio("p50_us", 1, "HAProxy")
    yield from row("p50 at one client: at most 1.25 × HAProxy's", latency, 1.25, "{:.2f} ×")
    size = figures.memory.get(OURS)
    yield from row("memory a pending request: at most 3 KB", size and size / 1000, 3, "{:.1f} KB")


def sections(figures):
    yield figures.machine
    if figures.samples:
        head = ["clients", "proxy", "CPU µs/request", "requests/s", "p50 µs", "p99 µs", "its core", "load's core"]
        yield table(head, list(sample_rows(figures)))
    if any(map(bound_by_load, figures.samples.values())):
        yield "† The core of load and origin is the bound here, not the proxy."
    if rows := list(ratio_rows(figures)) if OURS in figures.proxies() else []:
        yield "Penstock's figure divided by the other's:"
        yield table(["clients", "against", "CPU", "requests/s", "p50", "p99"], rows)
    if figures.memory:
        yield f"Memory of one pending request, with {figures.pending} of them (nginx and Squid have no such queue):"
        yield table(["proxy", "resident", "Penstock ÷ it"], list(memory_rows(figures)), left=1)
    if aims := list(aim_rows(figures)):
        yield table(["aim", "", "measured"], aims)


def text_of(figures):
    return "\n\n".join(sections(figures)) + "\n"


def put(text, page, name="figures"):
    """The page with `text` between the markers of that name."""
    first, last = BEGIN.format(name), END.format(name)
    before, begin, rest = page.partition(first)
    _, end, after = rest.partition(last)
    if not begin or not end:
        raise ValueError(f"the page lacks its markers: {first} and {last}")
    return f"{before}{first}\n\n{text}\n{last}{after}"
