# SPDX-License-Identifier: Apache-2.0
"""What a governed request costs where Redis is spoken to over TLS, and plain: CPU of one Penstock, whose limit holds
nothing up. Both run at the same time, so that a machine that is slow for a while is slow for both. Called by script/bench ways."""

import argparse
import contextlib
import json
import pathlib
import signal
import statistics
import sys

from page import put, table
from processes import Failed, allow_open_files
from runs import ready
from stage import ROOT, Tools, run_seconds
from ways import Plain, Tls
from where import here

PAGE = ROOT / "docs/performance.md"
MARKER = "ways"
SECONDS = 1
CLIENTS = (1, 8, 50)


def options():
    parser = argparse.ArgumentParser(prog="script/bench ways", description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--print-only", action="store_true", help="leave docs/performance.md as it is")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release", help="where the programs are")
    return parser.parse_args()


def config_of(way, port):
    return (f"redis: {{ {way.keys()}, timeout: 10s, whenDown: wait }}\nupstreams:\n"
            f'  origin: {{ match: "127.0.0.1:{port}", limits: [ {{ pacer: {{ qps: 100000 }} }} ] }}\n')


class Running:
    """One Penstock under load, until `cost` is asked for."""

    def __init__(self, stack, tools, way, clients):
        self._origin = stack.enter_context(tools.origin())
        self._daemon = stack.enter_context(tools.daemon(config_of(way, self._origin.port)))
        self._load = stack.enter_context(tools.workers(self._origin.port, SECONDS, 0, "fail",
                                                       [f"{self._daemon.port}:{clients}:0"]))
        ready([self._load])
        self._redis = way.servers[0]

    def start(self):
        self._before, self._at_first = run_seconds(self._daemon.pid), self._redis.cost()
        self._load.tell("")

    def cost(self):
        """CPU µs a request of Penstock and of Redis, and calls a request."""
        json.loads(self._load.line())
        own, redis, count = run_seconds(self._daemon.pid), self._redis.cost(), len(self._origin.arrivals())
        return ((own - self._before) / count * 1e6, (redis.seconds - self._at_first.seconds) / count * 1e6,
                (redis.calls - self._at_first.calls) / count)


def measured(tools, rounds):
    """(clients, way) → the cost in each round."""
    found = {(clients, way.name): [] for clients in CLIENTS for way in (Plain, Tls)}
    with Plain() as plain, Tls() as tls:
        for _ in range(rounds):
            for clients in CLIENTS:
                with contextlib.ExitStack() as stack:
                    running = [Running(stack, tools, way, clients) for way in (plain, tls)]
                    for one in running:
                        one.start()
                    for way, one in zip((plain, tls), running):
                        found[clients, way.name].append(one.cost())
    return found


def rows_of(found):
    for clients in CLIENTS:
        plain, tls = found[clients, Plain.name], found[clients, Tls.name]

        def least(costs, which):
            return min(one[which] for one in costs)
        ratio = statistics.median(after[0] / before[0] for before, after in zip(plain, tls))
        yield [str(clients), *(f"{least(costs, 0):.1f}" for costs in (plain, tls)),
               f"{least(tls, 0) / least(plain, 0):.2f}", f"{ratio:.2f}",
               *(f"{least(costs, 1):.1f}" for costs in (plain, tls)), f"{statistics.median(one[2] for one in plain):.2f}"]


def main():
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    chosen = options()
    allow_open_files()
    build = chosen.build.resolve()
    try:
        found = measured(Tools(build, build / "penstock"), chosen.rounds)
    except (Failed, KeyboardInterrupt) as why:
        sys.exit(f"script/bench: {why or 'stopped'}")
    head = ["clients", "µs/request, plain", "over TLS", "TLS ÷ plain", "median of the rounds", "Redis µs/request, plain", "over TLS",
            "calls/request"]
    text = f"{here()}. The least of {chosen.rounds} rounds of {SECONDS} s.\n\n{table(head, list(rows_of(found)), left=0)}\n"
    print(text)
    if not chosen.print_only:
        PAGE.write_text(put(text, PAGE.read_text(encoding="utf-8"), MARKER), encoding="utf-8")
        print(f"Written to {PAGE.relative_to(ROOT)}.")


if __name__ == "__main__":
    main()
