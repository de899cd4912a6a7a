# SPDX-License-Identifier: Apache-2.0
"""The whole way: the built program (its path is the only argument) under a short load, scraped by a real Prometheus
with the configuration of the project. Every panel must show data, and every variable must have values."""

import math
import pathlib
import re
import sys
import tempfile
import time
import unittest

import dashboard as board
import stage

BINARY = pathlib.Path(sys.argv.pop(1)).resolve() if len(sys.argv) > 1 else None


def drive(penstock, origin):
    """One round of everything: successes, 404s, a broken upstream, a full queue, nonsense, a host without an entry."""
    named = f"http://{origin.authority}"
    other = named.replace("127.0.0.1", "localhost")
    paths = ["ok", "ok", "ok", "missing", "broken"]
    statuses = [penstock.get(f"{host}/{path}") for host in [named, other] for path in paths]
    statuses += stage.side_by_side(12, lambda: penstock.get(f"{named}/slow"))
    statuses.append(penstock.get("nonsense"))
    return statuses


class EverythingTogether(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="penstock-dashboards-")
        cls.addClassCleanup(folder.cleanup)
        path = pathlib.Path(folder.name)
        cls.origin = stage.Origin()
        cls.addClassCleanup(cls.origin.close)
        redis = stage.Redis(path)
        cls.addClassCleanup(redis.close)
        cls.penstock = stage.Penstock(str(BINARY), cls.origin.authority, redis.url, path)
        cls.addClassCleanup(cls.penstock.close)
        cls.prometheus = stage.Prometheus(f"127.0.0.1:{cls.penstock.admin_port}", path)
        cls.addClassCleanup(cls.prometheus.close)
        cls.statuses = cls.load_between_two_scrapes()

    @classmethod
    def load_between_two_scrapes(cls):
        """A rate needs two samples of every series, and something that happened between them."""
        statuses = drive(cls.penstock, cls.origin)
        stage.until(lambda: cls.scraped(len(statuses)), "a scrape after the first round")
        statuses += drive(cls.penstock, cls.origin)
        stage.until(lambda: cls.scraped(len(statuses)), "a scrape after the second round")
        return statuses

    @classmethod
    def scraped(cls, requests):
        return cls.prometheus.value("sum(penstock_requests_total)") == requests

    def series(self, query):
        now = time.time()
        return self.prometheus.ask("query_range", query=query, start=now - 60, end=now, step=1)["result"]

    def test_the_load_had_successes_errors_and_refusals(self):
        for status in [200, 404, 502, 503, 400]:
            self.assertIn(status, self.statuses)

    def test_outcomes_are_counted_as_the_clients_saw_them(self):
        for status in set(self.statuses):
            counted = self.prometheus.value(f'sum(penstock_responses_total{{code="{status}"}})')
            self.assertEqual(counted, self.statuses.count(status), status)
        successes = self.prometheus.value('sum(penstock_requests_total{outcome="success"})')
        self.assertEqual(successes, self.statuses.count(200))

    def test_every_panel_shows_data(self):
        for title, query in board.queries(board.load()):
            with self.subTest(title, query=query):
                samples = [sample for series in self.series(board.substituted(query)) for sample in series["values"]]
                self.assertTrue(samples, "no data")
                self.assertTrue(any(math.isfinite(float(value)) for _, value in samples), "nothing but NaN")

    def test_every_variable_has_values(self):
        for name, variable in board.variables(board.load()).items():
            if variable["type"] != "query":
                continue
            selector, label = re.fullmatch(r"label_values\((.+), (\w+)\)", variable["definition"]).groups()
            series = self.prometheus.ask("series", **{"match[]": board.substituted(selector)})
            self.assertTrue({one[label] for one in series}, name)

    def test_the_upstreams_to_choose_from_are_the_configured_ones_and_the_star(self):
        self.assertEqual(set(self.prometheus.ask("label/upstream/values")), {"*", "origin"})

    def test_the_alerts_are_loaded_and_evaluate(self):
        names = set(re.findall(r"- alert: (\w+)", (board.DASHBOARDS / "alerts.yml").read_text()))

        def evaluated():
            rules = [rule for group in self.prometheus.ask("rules")["groups"] for rule in group["rules"]]
            return rules if rules and all(rule["health"] != "unknown" for rule in rules) else None

        rules = stage.until(evaluated, "an evaluation of the alerts")
        self.assertEqual({rule["name"] for rule in rules}, names)
        self.assertEqual([rule["lastError"] for rule in rules if rule["health"] != "ok"], [])

    def test_the_manual_lists_exactly_what_there_is(self):
        served = set(re.findall(r"^# TYPE (\S+) ", self.penstock.metrics(), re.M))
        self.assertEqual(board.documented_metrics(), served)


if __name__ == "__main__":
    if BINARY is None:
        sys.exit("usage: test_live.py PENSTOCK-BINARY")
    unittest.main()
