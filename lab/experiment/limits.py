# SPDX-License-Identifier: Apache-2.0
"""The extended reference experiment: several Penstocks share a limit through one Redis, compared with Bottleneck doing
the same work; with bursts, groups, distances and permits, and with failures of Redis and of processes. Exits with 1 if
an aim is missed. Called by script/bench limits, which builds first."""

import argparse
import fnmatch
import pathlib
import signal
import sys
import time

from aims import HALF, Aim, counted, judged_by_machine, latenesses, shares, times_of
from faults import DISTURBED
from page import put, table
from processes import Failed, allow_open_files
from readings import MS, fullest, gaps, quantile
from scenarios import DISTANCE_MS, DISTANT, PROCESSES, REFERENCE, UNDISTURBED
from stage import ROOT, Tools
from where import here

PAGE = ROOT / "docs/performance.md"
MARKER = "limits"
EVERYTHING = REFERENCE + UNDISTURBED + DISTURBED
USUAL = "Three processes with 50 workers each for 10 s, where nothing else is said."
HEAD = ["", "sent", "fullest 500 ms", "gap p1 ms", "p50 ms", "late p50/p99/p99.9 ms", "shares", "Redis calls/request",
        "Redis µs/request", "process µs/request", "worst wait ms", "noise ms", "others"]


def options():
    parser = argparse.ArgumentParser(prog="script/bench limits", description=__doc__)
    parser.add_argument("--only", default="", metavar="PATTERN",
                        help="the one of this name, or those whose name contains it or is like it "
                             "('pacer*'); never written to the page")
    parser.add_argument("--list", action="store_true", help="the scenarios' names")
    parser.add_argument("--short", action="store_true", help="only the reference experiment: 2 minutes")
    parser.add_argument("--print-only", action="store_true", help="leave docs/performance.md as it is")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release", help="where the programs are")
    parser.add_argument("--penstock", type=pathlib.Path, help="another program than the one in --build")
    return parser.parse_args()


def chosen_of(chosen):
    everything = REFERENCE if chosen.short else EVERYTHING

    def wanted(name):
        if any(scenario.name == chosen.only for scenario in everything):
            return name == chosen.only
        return chosen.only in name or fnmatch.fnmatch(name, chosen.only)
    return [scenario for scenario in everything if wanted(scenario.name)]


def tools_of(chosen):
    build = chosen.build.resolve()
    return Tools(build, (chosen.penstock or build / "penstock").resolve())


def shown(counts):
    return " ".join(map(str, counts)) if len(counts) <= 4 else f"{min(counts)}..{max(counts)}"


def lateness(scenario, run):
    """Only for pacers of 400/s that are never idle, recognized by their names."""
    if scenario not in REFERENCE + PROCESSES + DISTANT or not scenario.name.startswith("pacer"):
        return "–"
    late = latenesses(run, DISTANCE_MS)
    return " ".join(f"{quantile(late, share) / MS:.2f}" for share in (0.5, 0.99, 0.999))


def row(scenario, run):
    counts = counted(run)
    between = gaps([arrival.at for arrival in counts]) or [0]
    calls = f"{run.redis_calls:.3f}" if run.redis_calls > 0 else "–"  # a restarted Redis counts from its restart on
    return [scenario.name, str(len(counts)), str(fullest(times_of(run), HALF)),
            *(f"{quantile(between, share) / MS:.3f}" for share in (0.01, 0.5)), lateness(scenario, run),
            shown(shares(run)), calls, f"{max(0, run.redis_us):.0f}", f"{run.process_us:.0f}", f"{run.worst_ms:.0f}",
            f"{run.noise_ms:.1f}", f"{run.others:.0%}"]


def tried(tools, scenarios, rows, aims):
    """Adds the row of every scenario, and its aims with its name. A scenario that ends early has missed its aim."""
    for at, scenario in enumerate(scenarios):
        begin = time.monotonic()
        print(f"{at + 1} of {len(scenarios)}: {scenario.name}", file=sys.stderr, flush=True)
        try:
            run = scenario.run(tools)
            rows.append(row(scenario, run))
            found = judged_by_machine(run, scenario.aims(run))
        except Failed as why:
            found = [Aim("the run comes to its end", " ".join(str(why).split())[:300], "missed")]
        aims += [(scenario.name, aim) for aim in found]
        for aim in found:
            print(f"    {aim.verdict or '-':10} {aim.what}: {aim.measured}", file=sys.stderr)
        print(f"    {time.monotonic() - begin:.1f} s", file=sys.stderr, flush=True)


def text_of(rows, aims):
    cells = [[name, aim.what, "**missed**" if aim.verdict == "missed" else aim.verdict, aim.measured]
             for name, aim in aims]
    return "\n\n".join([f"{here()}. {USUAL}", table(HEAD, rows, left=1),
                        table(["", "aim", "", "measured"], cells, left=3)]) + "\n"


def main():
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    chosen = options()
    scenarios = chosen_of(chosen)
    if chosen.list:
        return print("\n".join(scenario.name for scenario in scenarios))
    allow_open_files()
    tools = tools_of(chosen)
    rows, aims = [], []
    try:
        tried(tools, scenarios, rows, aims)
    except KeyboardInterrupt:
        sys.exit(f"{text_of(rows, aims)}\nscript/bench: stopped")
    text = text_of(rows, aims)
    print(text)
    if scenarios == EVERYTHING and not chosen.print_only:
        PAGE.write_text(put(text, PAGE.read_text(encoding="utf-8"), MARKER), encoding="utf-8")
        print(f"Written to {PAGE.relative_to(ROOT)}.")
    if missed := [name for name, aim in aims if aim.verdict == "missed"]:
        sys.exit(f"script/bench: {len(missed)} aims missed: {', '.join(dict.fromkeys(missed))}")


if __name__ == "__main__":
    main()
