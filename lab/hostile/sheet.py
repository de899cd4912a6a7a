# SPDX-License-Identifier: Apache-2.0
"""What became of the hostile requests, as a Markdown table for docs/security.md. For the programs of this folder only."""

from cases import BODIES, CASES, FIELDS, LINES
from outcome import ANSWERED, AS_SENT, CLEAN, HIDDEN, HUNG, is_allowed
from page import table

WORDS = {ANSWERED: "answered {0.status}", CLEAN: "clean", AS_SENT: "as sent", HIDDEN: "the hidden one too",
         HUNG: "no answer"}
PARTS = (("Request line and Host", LINES), ("Fields", FIELDS), ("Bodies, and what follows them", BODIES))


def words(outcome):
    if outcome.kind in WORDS:
        return WORDS[outcome.kind].format(outcome)
    refusal = str(outcome.status) if outcome.status else "closed"
    return refusal + (", begun" if outcome.is_begun else "") + (", left open" if outcome.is_open else "")


def cell(case, outcome):
    return words(outcome) if is_allowed(case, outcome) else f"**{words(outcome)}**"


def sections(machine, proxies, became):
    yield machine
    for title, cases in PARTS:
        rows = [[case.name, f"[{case.rule}]", *(cell(case, became[proxy, case.name]) for proxy in proxies)]
                for case in cases]
        yield table([title, "rule", *proxies], rows, left=2 + len(proxies))
    counts = {proxy: sum(not is_allowed(case, became[proxy, case.name]) for case in CASES) for proxy in proxies}
    yield "Not as the rule leaves it: " + ", ".join(
        f"{proxy} {count} of {len(CASES)}" for proxy, count in counts.items()) + "."


def text_of(machine, proxies, became):
    return "\n\n".join(sections(machine, proxies, became)) + "\n"
