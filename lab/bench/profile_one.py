# SPDX-License-Identifier: Apache-2.0
"""Where one proxy's time goes under the benchmark's load: perf says in which functions, strace how many system calls a
request costs. Called by script/profile, which builds first."""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile

from command import parser_of
from measures import expect
from processes import Failed, Process, allow_open_files, tree_of, until
from proxies import RECIPES, Bench


SECONDS = 5     # of load
FUNCTIONS = 40  # how many to list


def options():
    parser = parser_of("script/profile", __doc__)
    parser.add_argument("proxy", nargs="?", default="Penstock", choices=RECIPES)
    parser.add_argument("--clients", type=int, default=64, help="at once; 64")
    return parser.parse_args()


def watched(bench, proxy, origin, chosen, watcher, ready):
    """Runs the load while `watcher`, a command, looks at the proxy; gives the number of requests meanwhile."""
    with bench.load("loop", proxy.port, origin, chosen.clients, 0.5, SECONDS) as load:
        expect(load.line(), "ready")
        with Process(watcher, bench.load_core, stderr=subprocess.STDOUT) as watching:
            until(lambda: ready(watching), f"{watching.name} to begin")
            load.tell("")
            requests = json.loads(load.line())["requests"]
            os.kill(watching.pid, signal.SIGINT)
            watching.last_words()
    return requests


def report(data, *how):
    command = ["perf", "report", "-i", data, "--stdio", "--no-children", "-g", "none", *how]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    lines = [re.sub(r"(\s+-)*\s*$", "", line) for line in text.splitlines()]  # without its empty columns
    return [line for line in lines if line and not line.startswith("#")]


def print_functions(bench, proxy, origin, chosen, directory):
    data = f"{directory}/perf.data"
    pids = ",".join(map(str, tree_of(proxy.pid)))
    record = ["perf", "record", "-e", "cpu-clock", "-F", "1999", "-o", data, "-p", pids]
    watched(bench, proxy, origin, chosen, record, lambda _: os.path.exists(data))
    print("By library (the kernel included):")
    print("\n".join(report(data, "--sort", "dso")))
    print("\nBy function:")
    print("\n".join(report(data, "--sort", "dso,symbol")[:FUNCTIONS]))


def print_calls(bench, proxy, origin, chosen, directory):
    counts = f"{directory}/strace"
    processes = [word for pid in tree_of(proxy.pid) for word in ("-p", str(pid))]
    watcher = ["strace", "-f", "-c", "-U", "calls,errors,name", "-o", counts, *processes]
    requests = watched(bench, proxy, origin, chosen, watcher, lambda strace: "attached" in strace.line())
    print("\nSystem calls for each request (slowed down by being counted):")
    for line in pathlib.Path(counts).read_text(encoding="utf-8").splitlines():
        if found := re.match(r"\s*(\d+)\s+(\d*)\s+(\w+)$", line):
            print(f"  {int(found.group(1)) / requests:7.3f}  {found.group(3)}")


def main():
    chosen = options()
    os.sched_setaffinity(0, {Bench.load_core})
    allow_open_files()
    bench = Bench(chosen.build.resolve())
    try:
        with tempfile.TemporaryDirectory(prefix="bench-profile-") as directory, bench.origin() as origin, \
                bench.proxy(chosen.proxy, origin) as proxy:
            print_functions(bench, proxy, origin, chosen, directory)
            print_calls(bench, proxy, origin, chosen, directory)
    except (Failed, KeyboardInterrupt) as why:
        sys.exit(f"script/profile: {why or 'stopped'}")


main()
