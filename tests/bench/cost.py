# SPDX-License-Identifier: Apache-2.0
"""What one decision costs: in this process, and Redis. Called by script/bench, which builds first."""

import argparse
import datetime
import os
import pathlib
import platform
import resource
import subprocess
import sys
import time

from page import put
from processes import busy_seconds_of_machine

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/performance.md"
PROGRAMS = ("flow/flow_cost", "lua/lua_cost")  # each prints Markdown tables


def options():
    parser = argparse.ArgumentParser(prog="script/bench cost", description=__doc__)
    parser.add_argument("--print-only", action="store_true", help="leave docs/performance.md as it is")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release", help="where the programs are")
    return parser.parse_args()


def said_by(*command):
    return subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, check=True).stdout


def others_since(begin, busy):
    """How many cores others have kept busy meanwhile."""
    own = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (busy_seconds_of_machine() - busy - own.ru_utime - own.ru_stime) / (time.monotonic() - begin)


def text_of(build):
    begin, busy = time.monotonic(), busy_seconds_of_machine()
    tables = [said_by(build / "tests" / program) for program in PROGRAMS]
    others = others_since(begin, busy)
    redis = said_by("redis-server", "--version").split("v=")[1].split()[0]
    machine = f"{datetime.date.today()}, {os.cpu_count()} cores, Linux {platform.release()}; Redis {redis}."
    disturbed = f" Others took {others:.0%} of a core meanwhile: these figures are rough." if others > 0.1 else ""
    return "\n".join([f"{machine}{disturbed}\n", *tables])


def main():
    chosen = options()
    try:
        text = text_of(chosen.build.resolve())
    except (OSError, subprocess.CalledProcessError, KeyboardInterrupt) as why:
        sys.exit(f"script/bench: {why or 'stopped'}")
    print(text)
    if not chosen.print_only:
        PAGE.write_text(put(text, PAGE.read_text(encoding="utf-8"), "cost"), encoding="utf-8")
        print(f"Written to {PAGE.relative_to(ROOT)}.")


main()
