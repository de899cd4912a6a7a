#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A chaos run: rounds of load and faults, and after each a reckoning. Called by script/chaos, and by CTest.
   run.py PROGRAM MINUTES [--seed N] [--rate N] [--round SECONDS]"""

import argparse
import asyncio
import collections
import pathlib
import shutil
import signal
import ssl
import sys
import tempfile
import time

import ledger
import settings
from clients import Client
from faults import KINDS as FAULTS, Faults
from house import Names, Penstock, Redis, eventually
from origins import FarEnd, Origin
from plan import Plan
from processes import Failed, allow_open_files
from tls_origin import make_authority

PATIENCE = 30   # seconds for everything to come to rest
AT_ONCE = 500   # visits; who comes then waits
GROWTH = 16 << 20  # bytes that the program may grow by, from the first round on


class Run:
    """From the start of all processes to their end."""

    def __init__(self, options):
        self.options = options
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="penstock-chaos-"))
        self.counts, self.errors = collections.Counter(), collections.Counter()
        self.breaches = []
        self.resident, self.own = None, None

    async def start(self):
        make_authority(self.directory)
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(self.directory / "origin.pem", self.directory / "origin.key")
        self.origins = {name: FarEnd() if name == "tunnels" else Origin(tls if upstream.over_tls else None)
                        for name, upstream in settings.UPSTREAMS.items()}
        for origin in self.origins.values():
            await origin.start()
        self.names, self.redis = Names(), Redis(self.directory)
        await self.redis.answers()
        self.ports = {name: origin.port for name, origin in self.origins.items()}
        self.place = settings.Place(self.ports, str(self.directory / "ca.pem"), await self.names.start(), self.redis.port,
                                    str(self.directory / "events"))
        self.penstock = Penstock(self.options.program, self.directory, settings.configuration(self.place))
        self.faults = Faults(self)

    async def go(self):
        await self.start()
        end, number = time.monotonic() + 60 * self.options.minutes, 0
        while time.monotonic() < end and self.penstock.runs() and not self.breaches:
            number += 1
            seconds = min(self.options.round, max(3, end - time.monotonic()))
            await self.round(Plan(self.options.seed, number, seconds, self.options.rate))
        self.finish()

    async def round(self, plan):
        book = ledger.Ledger()
        for origin in self.origins.values():
            origin.book = book
        self.faults.begin(book)
        before = await self.penstock.metrics()
        faults = asyncio.create_task(self.faults.play(plan.faults))
        await self.play(plan, book)
        await faults
        await self.rest(book, before)
        if not self.penstock.runs():
            book.breach("the program has ended")
        else:
            self.breaches += book.breaches(lag(before, await self.penstock.metrics()))
        self.count(book)

    async def play(self, plan, book):
        begin, room, tasks = time.monotonic(), asyncio.Semaphore(AT_ONCE), set()

        async def one(visit):
            async with room:
                await Client(visit, self.penstock.port, self.ports, book).go()

        for visit in plan.visits:
            await asyncio.sleep(max(0, begin + visit.at - time.monotonic()))
            task = asyncio.create_task(one(visit))
            tasks.add(task)
            task.add_done_callback(tasks.discard)
        await asyncio.gather(*tasks)

    async def rest(self, book, before):
        """Waits until nothing is under way and the log is whole, and looks whether all is as it was before."""
        for lines in (self.gauges, lambda: self.log_is_whole(book, before), self.lets_go):
            wrong = [None]

            async def is_well(lines=lines, wrong=wrong):
                wrong[0] = await lines()
                return not wrong[0]

            if self.penstock.runs() and not await eventually(is_well, PATIENCE):
                book.breach(f"not as before after {PATIENCE} s: {wrong[0]}")
        own, _ = self.penstock.descriptors(set(self.ports.values()))
        self.own = self.own or own
        self.resident = self.resident or self.penstock.resident()

    async def gauges(self):
        metrics = await self.penstock.metrics()
        gauges = ("penstock_pending_requests", "penstock_in_flight_requests", "penstock_connections", "penstock_tunnels")
        wrong = [f"{name} {dict(labels)} is {value:.0f}" for (name, labels), value in metrics.items()
                 if name in gauges and value]
        own, _ = self.penstock.descriptors(set(self.ports.values()))
        if self.own is not None and len(own) > len(self.own):
            wrong.append(f"{len(own)} descriptors, {len(self.own)} after the first round: {sorted(own)}, {sorted(self.own)}")
        grown = self.penstock.resident() - (self.resident or self.penstock.resident())
        if grown > self.options.growth:
            wrong.append(f"memory has grown by {grown} bytes since the first round")
        return wrong

    async def lets_go(self):
        """Of connections that were kept for the next request none is left where the other side has left it."""
        for origin in self.origins.values():
            origin.hang_up()
        _, kept = self.penstock.descriptors(set(self.ports.values()))
        return [f"{kept} connections to origins that have left"] if kept else []

    async def log_is_whole(self, book, before):
        """The metrics count as many outcomes of each kind as there are lines."""
        for event in self.penstock.new_events():
            book.logged(event)
        lines = [event for request in book.requests.values() for event in request.events] + book.unnamed
        logged = collections.Counter(event["event"] for event in lines if event["event"] != "dispatch")
        counted = collections.Counter()
        for (name, labels), value in (await self.penstock.metrics()).items():
            if name == "penstock_requests_total":
                counted[KINDS[dict(labels)["outcome"]]] += int(value - before.get((name, labels), 0))
        landed = logged["complete"] + logged["error"]
        pairs = {"landed": (landed, counted["landed"]), "refused": (logged["refused"], counted["refused"]),
                 "gone": (logged["gone"], counted["gone"])}
        return [f"{kind}: {seen} in the log, {metric} in the metrics" for kind, (seen, metric) in pairs.items()
                if seen != metric]

    def count(self, book):
        for request in book.requests.values():
            self.counts["requests"] += 1
            self.counts["seen by origins"] += len(request.sightings)
            self.counts["sent again"] += request.attempts - 1
            self.counts["clients that left"] += bool(request.left)
            self.counts["answers of origins"] += request.whole and not request.own
            for event in request.outcomes:
                self.counts[event["event"]] += 1
                self.errors[event.get("error", "none")] += 1
        self.counts["refused"] += sum(event["event"] == "refused" for event in book.unnamed)
        self.counts["rounds"] += 1

    def finish(self):
        missing = [kind for kind in FAULTS if self.faults.counts[kind] == 0]
        missing += ["sent again"] if self.counts["sent again"] == 0 else []
        if self.options.minutes >= 1 and not self.breaches and missing:
            self.breaches.append(ledger.Breach("what never happened proves nothing: " + ", ".join(missing), []))
        code = self.penstock.end()
        said = self.penstock.said()
        if code != 0 or "Sanitizer" in said or "runtime error" in said:
            self.breaches.append(ledger.Breach(f"the program ended with {code}", said.splitlines()))

    async def end(self):
        if hasattr(self, "penstock"):
            self.penstock.end()
        if hasattr(self, "redis"):
            self.redis.end()
        for origin in getattr(self, "origins", {}).values():
            await origin.end()
        if self.options.keep:
            print(f"chaos: the configuration and the log are in {self.directory}")
        else:
            shutil.rmtree(self.directory, ignore_errors=True)


KINDS = {"success": "landed", "http_error": "landed", "upstream_error": "landed", "client_gone": "landed",
         "client_gone_pending": "gone", "refused": "refused"}


def lag(before, after):
    """The most by which a timer of the program was late meanwhile, as its histogram tells: a bound of it, in seconds."""
    def new(key):
        return after[key] - before.get(key, 0)

    every = new(("penstock_loop_lag_seconds_count", ()))
    return min(float(dict(key[1])["le"].replace("+Inf", "2")) for key in after
               if key[0] == "penstock_loop_lag_seconds_bucket" and new(key) >= every)


async def main():
    parser = argparse.ArgumentParser(prog="script/chaos")
    parser.add_argument("program")
    parser.add_argument("minutes", type=float)
    parser.add_argument("--seed", type=int, default=int(time.time()), help="the same seed, the same plan")
    parser.add_argument("--rate", type=float, default=300, help="requests a second")
    parser.add_argument("--round", type=float, default=20, help="seconds of load before each reckoning")
    parser.add_argument("--growth", type=int, default=GROWTH, help="bytes that the program may grow by")
    parser.add_argument("--keep", action="store_true", help="leave the configuration and the log where they are")
    options = parser.parse_args()
    allow_open_files()
    # Whoever ends it early must not leave its processes behind.
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, asyncio.current_task().cancel)
    print(f"chaos: seed {options.seed}", flush=True)
    run = Run(options)
    try:
        await run.go()
    except Failed as failure:
        run.breaches.append(ledger.Breach(str(failure), []))
    finally:
        await run.end()
    for breach in run.breaches[:10]:
        print(breach, flush=True)
    for title, counts in (("counts", run.counts), ("errors", run.errors), ("faults", run.faults.counts)):
        print(f"chaos: {title}: " + ", ".join(f"{count} {what}" for what, count in counts.items()))
    print(f"chaos: {len(run.breaches)} breaches")
    return 1 if run.breaches else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
