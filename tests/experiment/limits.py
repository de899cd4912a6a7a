# SPDX-License-Identifier: Apache-2.0
"""The reference experiment: several Penstocks share a limit through one Redis, beside Bottleneck doing the same work.
Called by script/bench limits, which builds first."""

import argparse
import datetime
import os
import pathlib
import platform
import signal
import subprocess
import sys

from page import put, table
from processes import Failed, allow_open_files
from readings import MS, fullest, gaps, quantile
from scenarios import FURTHER, HALF, REFERENCE, counted, shares, times_of
from stage import ROOT, Tools

PAGE = ROOT / "docs/performance.md"
MARKER = "limits"
HEAD = ["", "sent", "fullest 500 ms", "gap p1 ms", "p50 ms", "shares", "Redis calls/request", "Redis µs/request",
        "process µs/request", "worst wait ms", "noise ms"]


def options():
    parser = argparse.ArgumentParser(prog="script/bench limits", description=__doc__)
    parser.add_argument("--only", default="", help="those whose name contains this; never written to the page")
    parser.add_argument("--short", action="store_true", help="only the reference experiment: 2 minutes instead of 8")
    parser.add_argument("--print-only", action="store_true", help="leave docs/performance.md as it is")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release", help="where the programs are")
    parser.add_argument("--penstock", type=pathlib.Path, help="another program than the one in --build")
    return parser.parse_args()


def tools_of(chosen):
    build = chosen.build.resolve()
    return Tools(build, (chosen.penstock or build / "penstock").resolve())


def shown(counts):
    return " ".join(map(str, counts)) if len(counts) <= 4 else f"{min(counts)}..{max(counts)}"


def row(name, run):
    counts = counted(run)
    between = gaps([arrival.at for arrival in counts])
    return [name, str(len(counts)), str(fullest(times_of(run), HALF)),
            *(f"{quantile(between, share) / MS:.3f}" for share in (0.01, 0.5)), shown(shares(run)),
            f"{run.redis_calls:.3f}", f"{run.redis_us:.0f}", f"{run.process_us:.0f}", f"{run.worst_ms:.0f}",
            f"{run.noise_ms:.1f}"]


def machine(penstock):
    version = subprocess.run([penstock, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    return (f"{datetime.date.today()}, {os.cpu_count()} cores, Linux {platform.release()}; {version}. "
            "Three processes with 50 workers each for 10 s, where nothing else is said.")


def tried(tools, scenarios):
    """Every scenario's row, and its aims."""
    rows, aims = [], []
    for at, scenario in enumerate(scenarios):
        print(f"{at + 1} of {len(scenarios)}: {scenario.name}", file=sys.stderr, flush=True)
        run = scenario.run(tools)
        rows.append(row(scenario.name, run))
        aims += [[scenario.name, aim.what, "met" if aim.met else "**missed**", aim.measured]
                 for aim in scenario.aims(run)]
    return rows, aims


def text_of(tools, scenarios):
    rows, aims = tried(tools, scenarios)
    return "\n\n".join([machine(tools.penstock), table(HEAD, rows, left=1),
                        table(["", "aim", "", "measured"], aims, left=3)]) + "\n"


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("script/bench: stopped"))
    chosen = options()
    allow_open_files()
    everything = REFERENCE if chosen.short else REFERENCE + FURTHER
    scenarios = [scenario for scenario in everything if chosen.only in scenario.name]
    try:
        text = text_of(tools_of(chosen), scenarios)
    except (Failed, KeyboardInterrupt) as why:
        sys.exit(f"script/bench: {why or 'stopped'}")
    print(text)
    if scenarios == REFERENCE + FURTHER and not chosen.print_only:
        PAGE.write_text(put(text, PAGE.read_text(encoding="utf-8"), MARKER), encoding="utf-8")
        print(f"Written to {PAGE.relative_to(ROOT)}.")


main()
