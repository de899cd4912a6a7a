# SPDX-License-Identifier: Apache-2.0
"""What slow clients cost the others, as Markdown tables for docs/performance.md. For the programs of this folder only."""

import dataclasses

from page import table, times

AIM = 2  # × the p99 without them


@dataclasses.dataclass(frozen=True)
class Lag:
    """Turns of the loop in all, and those later than 50 ms."""
    turns: float
    late: float

    def since(self, before):
        return Lag(self.turns - before.turns, self.late - before.late)


def text_of(machine, clients, crowd, medians, lags, let_go):
    """`medians` and `lags`: without (False) and with (True) the crowd; of heads, bodies and readers."""
    heads, bodies, readers = crowd
    rows = []
    for slow, words in ((False, "nobody"), (True, f"{sum(crowd)} slow clients")):
        one = medians[slow]
        turns, late = sum(lag.turns for lag in lags[slow]), sum(lag.late for lag in lags[slow])
        rows.append([words, f"{one.per_second:,.0f}".replace(",", " "), f"{one.p50_us:.0f}", f"{one.p99_us:.0f}",
                     f"{one.proxy_core:.0%}", f"{late:.0f} of {turns:.0f}"])
    ratio = medians[True].p99_us / medians[False].p99_us
    return "\n\n".join([
        machine,
        f"{clients} clients that ask without a pause, beside nobody, and beside {heads} clients that say a "
        f"head and {bodies} that say a body, each a byte a second, and {readers} that read nothing of an "
        f"endless answer. Those whom Penstock let go meanwhile ({let_go} in all rounds) came back at once.",
        table(["beside", "requests/s", "p50 µs", "p99 µs", "its core", "turns over 50 ms late"], rows, left=1),
        table(["aim", "", "measured"], [[f"p99 beside slow clients: at most {AIM} × that without",
                                         "met" if ratio <= AIM else "**missed**", f"{times(ratio)} ×"]])]) + "\n"
