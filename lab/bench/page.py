# SPDX-License-Identifier: Apache-2.0
"""Figures as Markdown tables, and their place in docs/performance.md. For the programs of this folder only."""

BEGIN = "<!-- {}: begin (script/bench writes what stands between) -->"
END = "<!-- {}: end -->"
OURS = "Penstock"
FIELDS = ("cpu_us", "per_second", "p50_us", "p99_us")


def table(head, rows, left=2):
    """Columns as wide as their widest cell; the first `left` of them to the left, figures to the right."""
    cells = [head, *rows]
    widths = [max(map(len, column)) for column in zip(*cells)]

    def line(row):
        return "| " + " | ".join(cell.ljust(width) if at < left else cell.rjust(width)
                                 for at, (cell, width) in enumerate(zip(row, widths))) + " |"

    rule = "|".join("-" * (width + 2) if at < left else "-" * (width + 1) + ":" for at, width in enumerate(widths))
    return "\n".join([line(head), f"|{rule}|", *map(line, rows)])


def dagger(sample):
    """The mark of what the load bounds, not the proxy."""
    return " †" if sample.load_core > 0.95 and sample.proxy_core < 0.95 else ""


def thousands(number):
    return f"{number:,.0f}".replace(",", " ")


def cores(sample):
    return [f"{sample.proxy_core:.0%}", f"{sample.load_core:.0%}"]


def ratio(samples, ours, theirs, field):
    """Nothing where one of the two was not measured."""
    one, other = samples.get(ours), samples.get(theirs)
    return getattr(one, field) / getattr(other, field) if one and other and getattr(other, field) else None


def times(number):
    return "–" if number is None else f"{number:.2f}"


def against_others(samples, fields, words=lambda way: [str(way)]):
    """Rows of what Penstock's figures are of the others'. `samples`: (way, proxy) → sample."""
    return [[*words(way), peer, *(times(ratio(samples, (way, OURS), (way, peer), field)) for field in fields)]
            for way, peer in samples if peer != OURS and (way, OURS) in samples]


def compared(what, samples, shown=str, digits=1, more=()):
    """Tables of `samples`, (way, proxy) → measures.Sample. `more`: further columns, as (head, cell of a sample)."""
    head = [what, "proxy", "CPU µs/request", "requests/s", "p50 µs", "p99 µs", *(name for name, _ in more), "its core",
            "load's core"]
    yield table(head, [[shown(way), proxy, f"{one.cpu_us:.{digits}f}", thousands(one.per_second) + dagger(one),
                        f"{one.p50_us:.0f}", f"{one.p99_us:.0f}", *(cell(one) for _, cell in more), *cores(one)]
                       for (way, proxy), one in samples.items()])
    if any(map(dagger, samples.values())):
        yield "† The core of load and origin is the bound here, not the proxy."
    if rows := against_others(samples, FIELDS, lambda way: [shown(way)]):
        yield "Penstock's figure divided by the other's:"
        yield table([what, "against", "CPU", "requests/s", "p50", "p99"], rows)


def judged(aims):
    """A table of aims: (what, measured, the most that it may be, how it is shown). What was not measured has no row."""
    rows = [[what, "met" if measured <= most else "**missed**", shown.format(measured)]
            for what, measured, most, shown in aims if measured is not None]
    if rows:
        yield table(["aim", "", "measured"], rows)


def joined(parts):
    return "\n\n".join(parts) + "\n"


def put(text, page, name="figures"):
    """The page with `text` between the markers of that name."""
    first, last = BEGIN.format(name), END.format(name)
    before, begin, rest = page.partition(first)
    _, end, after = rest.partition(last)
    if not begin or not end:
        raise ValueError(f"the page lacks its markers: {first} and {last}")
    return f"{before}{first}\n\n{text}\n{last}{after}"
