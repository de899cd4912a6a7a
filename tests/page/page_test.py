# SPDX-License-Identifier: Apache-2.0
"""The page of the admin port in a real browser, in front of the built program. Arguments: the program, node, and Chromium."""

import concurrent.futures
import contextlib
import datetime
import http.client
import json
import os
import pathlib
import re
import socket
import tempfile
import time
import unittest

import machine
import stage
from browser import Browser
from scene import Origin, Penstock
from staged import ROW, Staged, cell, given, main

MARKUP = "<img src=x onerror=document.title='owned'><b>bold</b>"


class Rows(Staged):
    UPSTREAMS = {f"up{number}": "maxConcurrent: 2" for number in range(50)}

    def test_there_is_a_row_for_each_upstream_within_a_second(self):
        tab = self.open()
        took = tab.evaluate("new Promise(done => { const look = () => document.querySelectorAll('tbody.up').length >= 50 ?"
                            " done(performance.now()) : setTimeout(look, 5); look(); })") / 1000
        late = machine.late(time.monotonic() - took)
        self.assertLessEqual(took - late, 1, f"{late} s late")
        names = tab.evaluate("[...document.querySelectorAll('tbody.up .name button')].map(one => one.textContent)")
        self.assertEqual(names, list(self.UPSTREAMS))
        self.assert_quiet(tab)

    def test_every_row_is_reached_and_opened_by_keys_alone(self):
        tab = self.open()
        stage.until(lambda: cell(tab, "up49", ".name"), "the rows")
        reached = []
        tab.press("/", "Escape", "Tab")
        focused = "document.activeElement.closest('tbody.up')?.querySelector('.name button').textContent ?? ''"
        for _ in range(50):
            reached.append(tab.evaluate(focused))
            tab.press("ArrowDown" if len(reached) % 2 else "Tab")
        self.assertEqual(reached, list(self.UPSTREAMS))
        tab.press("Shift+Tab", "Enter")
        self.assertEqual(tab.evaluate("document.querySelectorAll('tbody.up.open').length"), 1)
        stage.until(lambda: "nothing waits" in tab.evaluate("document.querySelector('tbody.open .panel').textContent"), "details")
        tab.press("Escape")
        self.assertEqual(tab.evaluate("document.querySelectorAll('tbody.up.open').length"), 0)
        tab.press("/")
        tab.ask("type", text="up31")
        shown = "[...document.querySelectorAll('tbody.up:not([hidden]) .name button')].map(one => one.textContent)"
        self.assertEqual(tab.evaluate(shown), ["up31"])
        tab.press("Escape")
        self.assertEqual(len(tab.evaluate(shown)), 50)
        self.assertEqual([found for found in tab.ask("judge") if found["impact"] in ("serious", "critical")], [])

    def test_a_view_held_still_says_so_and_goes_on_at_the_next_stroke(self):
        tab = self.open()
        stage.until(lambda: cell(tab, "up0", ".name"), "the rows")
        tab.press("Space")
        self.penstock.get("/up7/ok")
        held = "document.getElementById('news').textContent"
        stage.until(lambda: re.search(r"held still; what is shown is [1-9]", tab.evaluate(held)), "the age of what is shown")
        self.assertIn("no request has ended yet", tab.evaluate("document.getElementById('quiet').textContent"))
        tab.press("Space")
        stage.until(lambda: "/up7/ok" in tab.evaluate("document.getElementById('lines').textContent"), "the request")


class Figures(Staged):
    UPSTREAMS = {"busy": "maxConcurrent: 2, queue: { maxPending: 9 }", "turning": "maxConcurrent: 1, retry: { attempts: 1 }"}

    def metric(self, name, labels):
        found = re.search(rf"^{name}{{{re.escape(labels)}}} (\S+)$", self.penstock.admin_text("metrics"), re.MULTILINE)
        return int(float(found[1])) if found else 0

    def test_they_agree_with_the_metrics_within_a_snapshot(self):
        self.origin.server.retry_after = 0
        for _ in range(3):
            self.assertEqual(self.penstock.get("/turning/limited"), 429)
        for _ in range(7):
            self.penstock.ask("/busy/held")
        self.penstock.until("busy", lambda one: one["pending"] == 5, "five wait")
        tab = self.open()
        stage.until(lambda: cell(tab, "busy", ".waiting"), "the row")
        waiting = self.metric("penstock_pending_requests", 'upstream="busy"')
        flying = self.metric("penstock_in_flight_requests", 'upstream="busy"')
        refused = self.metric("penstock_upstream_refusals_total", 'code="429",upstream="turning"')
        self.assertEqual((waiting, flying), (5, 2))
        self.assertGreaterEqual(refused, 3)
        self.assertEqual(cell(tab, "busy", ".waiting"), "5/9")
        self.assertEqual(cell(tab, "busy", ".flight"), "2/2")
        self.assertEqual(cell(tab, "turning", ".refused"), str(refused))
        self.origin.server.held.set()
        self.penstock.until("busy", lambda one: one["inFlight"] == 0, "all have ended")
        snapshot = time.monotonic()
        stage.until(lambda: cell(tab, "busy", ".flight") == "0/2" and cell(tab, "busy", ".waiting") == "0/9", "the end")
        self.assertLess(time.monotonic() - snapshot - machine.late(snapshot), 2.5)
        self.assert_quiet(tab)


def lasting(seconds):
    """An interval whose window goes on for that long from now. Windows are aligned to 1970 UTC: one of an hour might begin
    anew while a test runs, or so soon that the page says so in place of a pace."""
    now = time.time()
    return next(f"{minutes}m" for minutes in range(60, 600) if 60 * minutes - now % (60 * minutes) > seconds)


HOUR = lasting(3000)

# What the cell says where `limitedBy` of the event log is no limit's name, which it says itself.
WORDS = {"maxConcurrent": r"slot", "pause": r"PAUSED|probing", "redis": r"Redis"}
LIMITS = {"pacing": "pacer: { qps: 0.001, name: %s }", "windowed": f"window: {{ reservoir: 1, interval: {HOUR}, name: %s }}",
          "sliding": "slidingWindow: { max: 1, interval: 1h, name: %s }",
          "bucket": "tokenBucket: { capacity: 1, refillAmount: 1, refillFrequency: 1h, name: %s }",
          "permits": "semaphore: { capacity: 1, name: %s }", "counted": "counter: { max: 1, period: 1h, name: %s }",
          "learning": "adaptive: { min: 1/h, max: 1/h, name: %s }"}


class Causes(Staged):
    MORE = {"more": "defaults: { queue: { maxWait: 2h } }"}  # what would wait longer is refused at once
    UPSTREAMS = {name: "maxConcurrent: 4, limits: [" + "{ " + limit % f"of-{name}" + " }]" for name, limit in LIMITS.items()} | {
        "slots": "maxConcurrent: 1", "paused": "maxConcurrent: 4, retry: { attempts: 1 }",
        "probed": "maxConcurrent: 4, retry: { attempts: 1 }", "crowded": "maxConcurrent: 1, queue: { maxPending: 2 }"}

    def assert_named(self, tab, upstream, also=""):
        """Something waits there. Its cell names what the log says when that gives up."""
        late = self.penstock.ask(f"/{upstream}/ok")
        self.penstock.until(upstream, lambda one: one["pending"] > 0 and one["state"], "a state")
        by = self.penstock.upstream(upstream)["head"]["limitedBy"]
        words = WORDS.get(by, re.escape(by)) if not also else also
        stage.until(lambda: re.search(words, cell(tab, upstream, ".state")), f"{upstream}: {words} in its cell")
        late.close()
        self.assertEqual(self.penstock.event(upstream, "gone")["limitedBy"], by)
        return by

    def test_each_limit_is_named(self):
        tab = self.open()
        for name in LIMITS:
            with self.subTest(name):
                self.penstock.ask(f"/{name}/held")
                self.penstock.until(name, lambda one: one["totals"]["dispatched"] == 1, "one has left")
                self.assertEqual(self.assert_named(tab, name), f"of-{name}")
        self.assert_quiet(tab)

    def test_slots_are_named(self):
        self.penstock.ask("/slots/held")
        self.penstock.until("slots", lambda one: one["inFlight"] == 1, "one is in flight")
        self.assertEqual(self.assert_named(self.open(), "slots"), "maxConcurrent")

    def test_a_full_queue_is_named(self):
        for _ in range(3):
            self.penstock.ask("/crowded/held")
        self.penstock.until("crowded", lambda one: one["pending"] == 2, "two wait")
        self.assertEqual(self.penstock.get("/crowded/ok"), 503)
        tab = self.open()
        stage.until(lambda: cell(tab, "crowded", ".state").startswith("FULL"), "FULL")
        refused = self.penstock.event("crowded", "refused")
        self.assertEqual((refused["status"], refused["limitedBy"]), (503, "maxConcurrent"))
        self.assertEqual(self.penstock.upstream("crowded")["head"]["limitedBy"], refused["limitedBy"])
        self.assertRegex(cell(tab, "crowded", ".state"), WORDS[refused["limitedBy"]])

    def test_a_pause_and_its_probe_are_named(self):
        self.assertEqual(self.penstock.get("/paused/limited"), 429)
        tab = self.open()
        self.assertEqual(self.assert_named(tab, "paused", "PAUSED by the API \\(429\\)"), "pause")
        self.origin.server.retry_after = 1
        self.assertEqual(self.penstock.get("/probed/limited"), 429)
        self.penstock.ask("/probed/held")
        self.penstock.until("probed", lambda one: one["inFlight"] == 1, "the probe")
        self.assertEqual(self.assert_named(tab, "probed", "prob"), "pause")


class Forecasts(Staged):
    UPSTREAMS = {"paced": "limits: [{ pacer: { qps: 2 } }]", "windowed": "limits: [{ window: { reservoir: 2, interval: 2s } }]"}
    SEEN = f"({ROW})?.querySelector('.state')?.textContent ?? ''"

    def test_the_last_in_line_leaves_when_the_cell_says_so(self):
        tab = self.open()
        for name, count in (("paced", 9), ("windowed", 7)):
            with self.subTest(name):
                for _ in range(count):
                    self.penstock.ask(f"/{name}/ok")
                self.penstock.until(name, lambda one: one["pending"] + one["totals"]["dispatched"] == count, "all are there")
                all_there = time.time() * 1000

                def told():
                    """What the cell says when all are there, and the moment of which it says so (ms since 1970)."""
                    moment, text = tab.evaluate(f"[process.now, {self.SEEN % json.dumps(name)}]")
                    found = moment >= all_there and re.search(r"leaves in ([0-9.]+) s$", text)
                    return found and (moment, float(found[1]) * 1000)

                moment, leaves_in = stage.until(told, f"{name}: the last departure in its cell")
                self.penstock.until(name, lambda one: one["totals"]["success"] == count, "all have left")
                last = max(one["ts"] for one in self.penstock.events(name, "dispatch", count))
                left = datetime.datetime.fromisoformat(last.replace("Z", "+00:00")).timestamp()
                since_1970 = time.time() - time.monotonic()
                late = machine.late(moment / 1000 - since_1970, left - since_1970) * 1000
                took = left * 1000 - moment
                self.assertGreater(took, 1000)
                self.assertLess(leaves_in - took, took / 10)
                self.assertLess(took - late - leaves_in, took / 10, f"{late} ms late")


class RedisDown(unittest.TestCase):
    def test_it_is_named(self):
        with tempfile.TemporaryDirectory(prefix="penstock-page-") as folder:
            folder = pathlib.Path(folder)
            origin, redis = Origin(), stage.Redis(folder)
            self.addCleanup(origin.close)
            self.addCleanup(redis.close)
            penstock = Penstock(given.program, origin, folder, {"shared": f"limits: [{{ window: {{ reservoir: 100, interval: {HOUR} }} }}]"},
                                more=f'redis: {{ url: "{redis.url}", whenDown: wait }}')
            self.addCleanup(penstock.close)
            self.assertEqual(penstock.get("/shared/ok"), 200)
            browser = Browser(given.node, given.chromium)
            self.addCleanup(browser.close)
            tab = browser.open(penstock.admin)
            stage.until(lambda: "up" in tab.evaluate("document.getElementById('redis').textContent"), "Redis to be up")
            redis.child.kill()
            late = penstock.ask("/shared/ok")
            stage.until(lambda: "DOWN" in tab.evaluate("document.getElementById('redis').textContent"), "Redis to be down")
            stage.until(lambda: "Redis" in cell(tab, "shared", ".state"), "the cell to say so")
            late.close()
            self.assertEqual(penstock.event("shared", "gone")["limitedBy"], "redis")


class Paces(unittest.TestCase):
    """Two processes that share limits through Redis."""

    UPSTREAMS = {"hourly": f"limits: [{{ window: {{ reservoir: 500, interval: {HOUR} }} }}]",
                 "rolling": "limits: [{ slidingWindow: { max: 500, interval: 1h } }]",
                 "permits": "limits: [{ semaphore: { capacity: 50 } }]"}

    def test_only_what_begins_anew_is_said_to_last_and_by_the_pace_of_all_processes(self):
        with tempfile.TemporaryDirectory(prefix="penstock-page-") as folder:
            origin, redis = Origin(), stage.Redis(pathlib.Path(folder))
            self.addCleanup(origin.close)
            self.addCleanup(redis.close)
            ours, another = (self.process(pathlib.Path(folder) / name, origin, redis) for name in ("ours", "another"))
            browser = Browser(given.node, given.chromium)
            self.addCleanup(browser.close)
            tab = browser.open(ours.admin)

            def words_of(upstream):
                return cell(tab, upstream, ".gauges").replace("\u202f", "")

            def is_told():
                another.get("/hourly/ok")
                for name in ("rolling", "permits"):
                    self.assertEqual(ours.get(f"/{name}/ok"), 200)
                return re.search(r"\d of 500, [0-9.]+ (s|min) left at this pace", words_of("hourly"))

            stage.until(is_told, "how long the window lasts, which the other process spends")
            stage.until(lambda: re.search(r"[1-9]\d* of 500", words_of("rolling")), "what is used of the sliding window")
            for name in ("rolling", "permits"):
                self.assertNotIn("at this pace", words_of(name))

    def process(self, folder, origin, redis):
        folder.mkdir()
        penstock = Penstock(given.program, origin, folder, self.UPSTREAMS, more=f'redis: {{ url: "{redis.url}" }}')
        self.addCleanup(penstock.close)
        return penstock


class Markup(Staged):
    UPSTREAMS = {"markup": "maxConcurrent: 1, group: 'header:X-Team'"}

    def test_it_is_shown_as_text(self):
        path = "/markup/held/" + MARKUP.replace(" ", "/")
        self.penstock.ask(path)
        self.penstock.ask(path, f"X-Team: {MARKUP}\r\n")
        self.penstock.until("markup", lambda one: one["pending"] == 1, "one waits")
        tab = self.open()
        stage.until(lambda: cell(tab, "markup", ".name"), "the row")
        tab.ask("click", selector="tbody.up tr.main")
        stage.until(lambda: "<img" in cell(tab, "markup", ".panel"), "the path that waits")
        self.origin.server.held.set()
        stage.until(lambda: "<img" in tab.evaluate("document.getElementById('lines').textContent"), "the path that has ended")
        self.assertEqual(tab.evaluate("document.querySelectorAll('img, main b > b, tbody.up script').length"), 0)
        self.assertEqual(tab.evaluate("document.title"), "Penstock")
        self.assert_quiet(tab)


class Closed(Staged):
    UPSTREAMS = {"api": "maxConcurrent: 2"}
    MORE = {"details": "off"}

    def test_the_page_says_why_details_are_not_shown(self):
        tab = self.open()
        self.assertEqual(self.penstock.get("/api/ok"), 200)
        stage.until(lambda: cell(tab, "api", ".name"), "the row")
        tab.ask("click", selector="tbody.up tr.main")
        for text in ("cell", "quiet"):
            found = cell(tab, "api", ".panel") if text == "cell" else tab.evaluate("document.getElementById('quiet').textContent")
            self.assertRegex(found, r"not shown: .*admin\.details: off")
        self.assert_quiet(tab)


class Lost(Staged):
    UPSTREAMS = {"api": "maxConcurrent: 2"}
    NEWS = "document.getElementById('news').textContent"

    def test_a_page_that_found_no_place_says_why_and_one_whose_server_is_gone_how_old_it_is(self):
        tab = self.open()
        ready = "document.getElementById('head').textContent.trim().split(/\\s+/).slice(0, 2).join(' ')"
        stage.until(lambda: cell(tab, "api", ".name"), "the row")
        self.assertEqual(tab.evaluate(ready), "ready penstock")
        self.assertEqual(tab.evaluate(f"accept({{...process, draining: true, full: false, gone: [], upstreams: []}}), {ready}"),
                         "draining penstock")
        for _ in range(7):
            viewer = self.penstock.waiting.enter_context(socket.create_connection(("127.0.0.1", self.penstock.admin_port)))
            viewer.sendall(b"GET /live HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            self.assertIn(b" 200 ", viewer.recv(100))
        ninth = self.open()
        stage.until(lambda: "503: Eight look already" in ninth.evaluate(self.NEWS), "the reason")
        self.penstock.child.terminate()
        self.penstock.child.wait()
        stage.until(lambda: re.search(r"Connection lost; what is shown is \d", tab.evaluate(self.NEWS)), "the age")
        self.assertEqual(tab.evaluate("document.body.className"), "stale")
        self.assertEqual(tab.evaluate(ready), "not connected")


class Load(Staged):
    UPSTREAMS = {f"up{number}": f"limits: [{{ window: {{ reservoir: 100, interval: {HOUR} }} }}]" for number in range(200)}
    SECONDS = 10

    def cpu(self):
        fields = pathlib.Path(f"/proc/{self.penstock.child.pid}/stat").read_text().rsplit(") ", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def test_eight_viewers_of_two_hundred_upstreams_cost_two_percent_of_a_core(self):
        viewers = []
        for _ in range(8):
            viewer = self.penstock.waiting.enter_context(socket.create_connection(("127.0.0.1", self.penstock.admin_port)))
            viewer.sendall(b"GET /live HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            viewer.settimeout(0.05)
            viewers.append(viewer)
        spent, begin, read = self.cpu(), time.monotonic(), 0
        while time.monotonic() - begin < self.SECONDS:
            for viewer in viewers:
                try:
                    read += len(viewer.recv(1 << 20))
                except TimeoutError:
                    pass
        share = (self.cpu() - spent) / (time.monotonic() - begin)
        print(f"eight viewers of 200 upstreams: {share:.2%} of a core, {read} bytes in {self.SECONDS} s")
        self.assertGreater(read, 8 * 50_000)
        self.assertLessEqual(share, 0.02)


class Crowd(Staged):
    """Ten thousand hosts that no upstream names."""

    HOSTS, PARTS = 10_000, 8

    def call(self, part):
        connection = http.client.HTTPConnection("127.0.0.1", self.penstock.port, timeout=stage.PATIENCE)
        with contextlib.closing(connection):
            for number in range(part, self.HOSTS, self.PARTS):
                connection.request("GET", f"http://127.1.{number // 250}.{number % 250 + 1}:1/")  # where nobody listens
                connection.getresponse().read()

    def test_the_page_shows_the_busiest_and_says_how_many_it_does_not_show(self):
        with concurrent.futures.ThreadPoolExecutor(self.PARTS) as pool:
            list(pool.map(self.call, range(self.PARTS)))
        tab = self.open()
        count = "document.querySelectorAll('tbody.up').length"
        stage.until(lambda: tab.evaluate(count) > 0, "rows")
        shown = tab.evaluate(count)
        self.assertLessEqual(shown, 200)
        self.assertGreater(shown, 100)
        rest = tab.evaluate("document.getElementById('rest').textContent").replace("\u202f", "")
        self.assertEqual(rest, f"{self.HOSTS - shown} more upstreams are not shown: these are the busiest.")
        asked = []
        end = time.monotonic() + 5  # five snapshots' time
        while time.monotonic() < end:
            begin = time.monotonic()
            self.assertEqual(self.penstock.admin_text("healthz"), "ok\n")
            asked.append((begin, time.monotonic()))
        worst = max(answered - begin for begin, answered in asked)
        print(f"beside a page of {self.HOSTS} upstreams the slowest of many answers took {worst * 1000:.1f} ms")
        for begin, answered in asked:
            if answered - begin >= 0.5:
                self.assertLess(answered - begin - machine.late(begin, answered), 0.5)
        self.assert_quiet(tab)


if __name__ == "__main__":
    main()
