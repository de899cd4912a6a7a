# SPDX-License-Identifier: Apache-2.0
"""What eight open pages cost the requests: the same load without them and with them, in turn. Called by script/bench, which
builds first."""

import contextlib
import pathlib
import selectors
import socket
import statistics
import threading

from command import options, publish
from measures import measure, median_of
from page import joined, judged, table, thousands
from processes import Failed, until
from proxies import RECIPES, Bench, Proxy
from runs import machine, result_of, say

PAGES, UPSTREAMS = 8, 200
AIM = 0.01   # of the requests that there are without them
ORDER = (False, True, True, False)  # so that what changes slowly disturbs both alike


class Watched(Proxy):
    """Penstock with as many upstreams as a page shows, beside the one that is under load."""

    def prepare(self, values):
        with open(pathlib.Path(self.directory, self.recipe.template), "a", encoding="utf-8") as config:
            for number in range(UPSTREAMS):
                config.write(f"\n  up{number}: {{ match: up{number}.example, rate: 100/h }}")


class Pages:
    """Open while in a `with`; a thread reads what they are told."""

    def __init__(self, port):
        self.port, self.snapshots, self.last = port, 0, {}
        self.running, self.selector = contextlib.ExitStack(), selectors.DefaultSelector()

    def __enter__(self):
        for _ in range(PAGES):
            page = self.running.enter_context(socket.create_connection(("127.0.0.1", self.port)))
            page.sendall(b"GET /live HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            self.selector.register(page, selectors.EVENT_READ)
        self.open, self.thread = True, threading.Thread(target=self._read)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.open = False
        self.thread.join()
        self.running.close()

    def _read(self):
        while self.open:
            for key, _ in self.selector.select(0.1):
                text = self.last.get(key.fileobj, b"") + key.fileobj.recv(1 << 20)
                self.snapshots += text.count(b"event: snapshot\n")
                self.last[key.fileobj] = text[text.rfind(b"\n") + 1:]  # the line that has not ended


def without_pages(bench, proxy, origin, chosen):
    return measure(bench, proxy, origin, chosen.clients, chosen.warm_up, chosen.seconds)


def with_pages(bench, proxy, origin, chosen):
    with Pages(proxy.admin_port) as pages:
        until(lambda: pages.snapshots >= PAGES, "a first snapshot for each page")
        before = pages.snapshots
        sample = without_pages(bench, proxy, origin, chosen)
        told = pages.snapshots - before
    wanted = PAGES * (chosen.seconds - 1)
    if told < wanted:
        raise Failed(f"{PAGES} pages were told {told} snapshots in {chosen.seconds} s, not {wanted} or more")
    return sample


def run(chosen):
    bench = Bench(chosen.build.resolve())
    samples, ratios = {False: [], True: []}, []
    with bench.origin() as origin, Watched(bench, RECIPES["Penstock"], origin, 256) as proxy:
        for turn in range(chosen.rounds):
            say(f"round {turn + 1} of {chosen.rounds}")
            taken = {False: [], True: []}
            for watched in ORDER:
                taken[watched].append((with_pages if watched else without_pages)(bench, proxy, origin, chosen))
            ratios.append([sum(getattr(one, field) for one in taken[True]) / sum(getattr(one, field) for one in taken[False])
                           for field in ("per_second", "cpu_us", "p99_us")])
            for watched, some in taken.items():
                samples[watched] += some
    others = statistics.median(one.others for one in samples[False])
    medians = {watched: median_of(some) for watched, some in samples.items()}
    return joined(sections(machine(bench, chosen, others), chosen.clients, medians, [sorted(column) for column in zip(*ratios)]))


def sections(where, clients, medians, ratios):
    """`medians`: without (False) and with (True) pages. `ratios`: with ÷ without, of each round, ascending."""
    yield where
    yield (f"{clients} clients that ask without a pause, while nobody looks and while {PAGES} pages are open, in turn within "
           f"each round. Each page is told of {UPSTREAMS + 1} upstreams, and of 20 requests a second.")
    rows = [[words, thousands(one.per_second), f"{one.cpu_us:.2f}", f"{one.p50_us:.0f}", f"{one.p99_us:.0f}", f"{one.proxy_core:.0%}"]
            for words, one in (("nobody looks", medians[False]), (f"{PAGES} pages", medians[True]))]
    yield table(["", "requests/s", "CPU µs/request", "p50 µs", "p99 µs", "its core"], rows, left=1)
    yield "With pages ÷ without, of each round: the median, and the middle half of the rounds."
    yield table(["", "median", "middle half"],
                [[name, f"{statistics.median(of):.3f}", f"{of[len(of) // 4]:.3f} to {of[-1 - len(of) // 4]:.3f}"]
                 for name, of in zip(("requests/s", "CPU", "p99"), ratios)], left=1)
    yield from judged([("requests/s with eight pages open: at most 1 % fewer", 1 - statistics.median(ratios[0]), AIM, "{:.1%}")])


CHOSEN = options("script/bench viewers", __doc__, rounds=9, seconds=4, warm_up=0.3, clients=16, proxies=["Penstock"])
publish(result_of(lambda: run(CHOSEN)), "viewers", CHOSEN)
