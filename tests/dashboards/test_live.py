# SPDX-License-Identifier: Apache-2.0
"""The whole way: the built program (its path is the only argument) under a short load, scraped by a real Prometheus
with the configuration of the project. Every panel must show data, and every variable must have values."""

import concurrent.futures
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


GOOD_NEWS = {  # 0 as long as all is well, and what would raise it, a test should not do to the machine that it is on
    "Events dropped": "penstock_events_dropped_total",                      # wants a full disk
    "Clients kept waiting or turned away": "penstock_accept_pauses_total",  # wants all descriptors in use
}


ORIGIN, SECURE = {"upstream": "origin"}, {"upstream": "secure"}
# What else must be seen to happen, of each query with such a metric, and not only one of its series. Where nothing is said
# of one with upstreams, it is `origin`: there everything happens but what happens inside TLS.
HAPPENS = {
    "penstock_limit_waits_total": [SECURE | {"limit": "pause"}],
    "penstock_limit_used": [ORIGIN | {"limit": "rate.window"}, ORIGIN | {"limit": "hour"}],
    "penstock_limit_resets_seconds": [ORIGIN | {"limit": "hour"}],
    "penstock_limit_units_total": [ORIGIN | {"limit": "rate"}, ORIGIN | {"limit": "hour"}],
    "penstock_limit_would_wait_total": [ORIGIN | {"limit": "tried"}],
    "penstock_limit_would_wait_seconds_total": [ORIGIN | {"limit": "tried"}],
    "penstock_pauses": [SECURE],
    "penstock_unreachable": [{"upstream": "dead"}],
    "penstock_requests_sent_again_total": [SECURE | {"why": "refusal"}],
    "penstock_client_handshakes_total": [SECURE | {"result": "done"}],
    "penstock_upstream_refusals_total": [SECURE | {"code": "429"}, ORIGIN | {"code": "503"}, ORIGIN | {"code": "529"}],
    "penstock_requests_total": [{"outcome": outcome} for outcome in ("success", "http_error", "upstream_error", "client_gone",
                                                                    "client_gone_pending", "refused")],
    "penstock_responses_total": [{"code": code} for code in ("200", "400", "404", "429", "502", "503", "529")],
    "penstock_refusals_total": [{"kind": kind} for kind in ("queue_full", "malformed", "unreachable")],
    "penstock_connections_refused_total": [{"kind": "connectionsPerClient"}],
    "penstock_config_reloads_total": [{"result": "success"}],
    "penstock_tunnel_bytes_total": [{"direction": "in"}, {"direction": "out"}],
}


def expected(query, labels):
    """Of which series something must be seen, by those of their labels that the answer has; by none: of any."""
    metric = board.METRIC.search(query)
    chosen = dict(re.findall(r'\b(outcome|code)=~?"([^"]+)"', query[metric.end():].partition("}")[0]))
    for wanted in HAPPENS.get(board.family(metric[0]), [ORIGIN]):
        if any(name in wanted and wanted[name] not in values.split("|") for name, values in chosen.items()):
            continue
        yield {name: value for name, value in wanted.items() if name in labels}


class EverythingTogether(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="penstock-dashboards-")
        cls.addClassCleanup(folder.cleanup)
        path = pathlib.Path(folder.name)
        cls.origin = stage.Origin(path)
        cls.addClassCleanup(cls.origin.close)
        redis = stage.Redis(path)
        cls.addClassCleanup(redis.close)
        cls.penstock = stage.Penstock(str(BINARY), cls.origin, redis.url, path)
        cls.addClassCleanup(cls.penstock.close)
        cls.prometheus = stage.Prometheus(f"127.0.0.1:{cls.penstock.admin_port}", path)
        cls.addClassCleanup(cls.prometheus.close)
        cls.begin, cls.statuses = time.time(), []
        # A rate needs two samples of every series, and something that happened between them.
        for _ in range(2):
            cls.drive()
            stage.until(lambda: cls.is_scraped("sum(penstock_requests_total)", len(cls.statuses)), "a scrape after a round")
            cls.penstock.reload()
        redis.child.kill()
        for query in ("max(penstock_degraded)", "sum(penstock_redis_errors_total)"):
            stage.until(lambda query=query: cls.is_scraped(query, 1), "a scrape without Redis")

    @classmethod
    def is_scraped(cls, query, least):
        return (cls.prometheus.value(query) or 0) >= least

    @classmethod
    def drive(cls):
        """One round of everything: successes, 404s, a broken upstream, a full queue, nonsense, a host without an entry, two
        tunnels, an interception, a pause, an upstream that is overloaded, one that cannot be reached, clients that leave,
        one with too many connections."""
        get, named = cls.penstock.get, f"http://{cls.origin.authority}"
        cls.penstock.crowd()
        for host in (named, named.replace("127.0.0.1", "localhost")):
            cls.statuses += [get(f"{host}/{path}") for path in ("ok", "ok", "ok", "missing", "broken", "busy", "overloaded")]
        cls.statuses += [cls.penstock.get_secure(path) for path in ("/ok", "/pause", "/ok")]
        cls.statuses += [get("http://127.0.0.1:1/") for _ in range(2)]  # the second one is refused
        cls.statuses.append(get("nonsense"))
        cls.statuses.append(get(f"{named}/ok", {"Penstock-Weight": "2"}))  # which does not count
        with cls.penstock.tunnel("127.0.0.1"):  # past the limits of its upstream
            cls.statuses.append(200)
        cls.origin.let_go.clear()
        cls.penstock.leave("/held", 2)
        with cls.penstock.tunnel("localhost"), concurrent.futures.ThreadPoolExecutor(12) as pool:
            held = [pool.submit(get, f"{named}/held") for _ in range(12)]
            try:
                stage.until(lambda: cls.is_scraped("sum(penstock_pending_requests)", 4), "a scrape of a full queue")
                for gauge in ("penstock_tunnels", "penstock_resting_tunnels"):
                    stage.until(lambda gauge=gauge: cls.is_scraped(f"sum({gauge})", 1), f"a scrape of {gauge}")
            finally:
                cls.origin.let_go.set()
            cls.statuses += [one.result() for one in held]
        cls.statuses.append(200)  # of the other tunnel

    def series(self, query):
        return self.prometheus.ask("query_range", query=query, start=self.begin, end=time.time() + 1, step=1)["result"]

    @staticmethod
    def samples(series, labels):
        """The numbers in those series that have these labels."""
        values = [float(value) for one in series if labels.items() <= one["metric"].items() for _, value in one["values"]]
        return [value for value in values if math.isfinite(value)]

    def test_the_load_had_successes_errors_and_refusals(self):
        for status in [200, 404, 429, 502, 503, 529, 400]:
            self.assertIn(status, self.statuses)

    def test_outcomes_are_counted_as_the_clients_saw_them(self):
        for status in set(self.statuses):
            counted = self.prometheus.value(f'sum(penstock_responses_total{{code="{status}"}})')
            self.assertEqual(counted, self.statuses.count(status), status)
        successes = self.prometheus.value('sum(penstock_requests_total{outcome="success"})')
        self.assertEqual(successes, self.statuses.count(200))

    def test_every_panel_shows_data_and_not_only_zeros(self):
        for title, query in board.queries(board.load()):
            with self.subTest(title, query=query):
                series = self.series(board.substituted(query))
                self.assertTrue(series, "no data")
                self.assertTrue(self.samples(series, {}), "nothing but NaN")
                if GOOD_NEWS.get(title, "nothing") in query:
                    continue
                for wanted in expected(query, {label for one in series for label in one["metric"]}):
                    self.assertNotEqual(set(self.samples(series, wanted)) - {0}, set(), f"nothing but 0 of {wanted or 'all'}")

    def test_every_variable_has_values(self):
        for name, variable in board.variables(board.load()).items():
            if variable["type"] != "query":
                continue
            selector, label = re.fullmatch(r"label_values\((.+), (\w+)\)", variable["definition"]).groups()
            series = self.prometheus.ask("series", **{"match[]": board.substituted(selector)})
            self.assertTrue({one[label] for one in series}, name)

    def test_the_upstreams_to_choose_from_are_the_configured_ones_and_the_star(self):
        self.assertEqual(set(self.prometheus.ask("label/upstream/values")), {"*", "dead", "origin", "secure"})

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
