# SPDX-License-Identifier: Apache-2.0
"""What one decision costs: in this process, and Redis. Called by script/bench, which builds first."""

import resource
import subprocess
import sys
import time

from command import options, publish
from processes import busy_seconds_of_machine
from runs import caution
from where import here

PROGRAMS = ("flow/flow_cost", "lua/lua_cost")  # each prints Markdown tables


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
    return "\n".join([f"{here()}; Redis {redis}.{caution(others)}\n", *tables])


def main():
    chosen = options("script/bench cost", __doc__)
    try:
        text = text_of(chosen.build.resolve())
    except (OSError, subprocess.CalledProcessError, KeyboardInterrupt) as why:
        sys.exit(f"script/bench: {why or 'stopped'}")
    publish(text, "cost", chosen)


main()
