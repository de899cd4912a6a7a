# SPDX-License-Identifier: Apache-2.0
"""What the programs that compare proxies have in common: where they run, what they say of that, and how they end.
For the programs of this folder only."""

import os
import signal
import sys

from processes import Failed, allow_open_files
from proxies import Bench
from where import here


def say(text):
    print(text, file=sys.stderr, flush=True)


def result_of(work):
    """What `work` gives, done on the load's core; whatever goes wrong ends the program with a line."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("script/bench: stopped"))
    if len(os.sched_getaffinity(0)) < 2:
        sys.exit("script/bench: needs two cores, one for the proxy, one for the load")
    os.sched_setaffinity(0, {Bench.load_core})  # this program itself must not disturb the proxy
    allow_open_files()
    try:
        return work()
    except (Failed, KeyboardInterrupt) as why:
        sys.exit(f"script/bench: {why or 'stopped'}")


def caution(others):
    """A sentence where others took so much of a core that figures suffer."""
    return f" Others took {others:.0%} of a core meanwhile: these figures are rough." if others > 0.1 else ""


def machine(bench, chosen, others):
    """A sentence; `chosen` has the proxies, the rounds and the seconds of each."""
    versions = ", ".join(f"{name} {bench.version_of(name)}" for name in chosen.proxies)
    return f"{here()}; {versions}. Medians of {chosen.rounds} rounds of {chosen.seconds:g} s.{caution(others)}"
