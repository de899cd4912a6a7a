# SPDX-License-Identifier: Apache-2.0
"""Rules that the files of dashboards/ must obey to be loaded and understood. Starts nothing but promtool."""

import re
import subprocess
import unittest

import dashboard as board

UNITS = {"s", "reqps", "percentunit", "bytes", "short"}
COUNTER = re.compile(r"\b(?:penstock|process)_[a-z_]+_(?:total|bucket|sum|count)\b")


class TheDashboard(unittest.TestCase):
    dashboard = board.load()

    def test_can_be_provisioned(self):
        self.assertIsNone(self.dashboard["id"])
        self.assertEqual(self.dashboard["uid"], "penstock")
        self.assertIs(self.dashboard["editable"], False)
        self.assertNotIn("__inputs", self.dashboard)
        self.assertIn(self.dashboard["schemaVersion"], range(36, 40))
        self.assertEqual(self.dashboard["graphTooltip"], 1)

    def test_takes_its_data_source_from_a_variable(self):
        source = board.variables(self.dashboard)["datasource"]
        self.assertEqual((source["type"], source["query"]), ("datasource", "prometheus"))
        self.assertEqual(source["label"], "Data source")
        expected = {"type": "prometheus", "uid": "${datasource}"}
        for panel in board.panels(self.dashboard):
            for owner in [panel, *panel["targets"]]:
                self.assertEqual(owner["datasource"], expected, panel["title"])

    def test_can_be_narrowed_to_jobs_instances_and_upstreams(self):
        variables = board.variables(self.dashboard)
        self.assertEqual(list(variables), ["datasource", "job", "instance", "upstream"])
        for name in ["job", "instance", "upstream"]:
            variable = variables[name]
            self.assertEqual(variable["type"], "query", name)
            self.assertTrue(variable["multi"] and variable["includeAll"], name)
            self.assertEqual(variable["allValue"], ".+", name)
            self.assertEqual(variable["refresh"], 2, f"{name} must follow the time range")

    def test_explains_every_panel(self):
        for panel in board.panels(self.dashboard):
            self.assertTrue(panel["title"])
            self.assertTrue(panel["description"].endswith("."), panel["title"])
            self.assertIn(panel["fieldConfig"]["defaults"]["unit"], UNITS, panel["title"])
            self.assertTrue(panel["targets"], panel["title"])

    def test_says_where_tunnels_are_not_seen(self):
        """Or an upstream that programs reach by tunnels would seem to rest."""
        unseen = re.compile(r"penstock_(?:flight_seconds|first_byte_seconds|rps|mean_latency|busy_seconds|upstream_refusals)")
        for panel in board.panels(self.dashboard):
            if any(unseen.search(target["expr"]) for target in panel["targets"]):
                self.assertIn("tunnels", panel["description"], panel["title"])

    def test_counts_departures_where_it_shows_departures(self):
        """A limit has let a request leave long before it lands, and it may never land."""
        [panel] = [panel for panel in board.panels(self.dashboard) if panel["title"].startswith("Departures")]
        self.assertIn("rate(penstock_departures_total{", panel["targets"][0]["expr"])

    def test_has_no_two_panels_of_one_name_or_id(self):
        panels = self.dashboard["panels"]
        for key in ["id", "title"]:
            values = [panel[key] for panel in panels]
            self.assertEqual(len(values), len(set(values)), key)


class EveryQuery(unittest.TestCase):
    queries = board.queries(board.load())

    def test_obeys_the_variables(self):
        for title, query in self.queries:
            selectors = re.findall(r"\b((?:penstock|process)_[a-z_]+)(\{[^}]*\})?", query)
            self.assertTrue(selectors, title)
            for metric, selector in selectors:
                self.assertIn('job=~"$job",instance=~"$instance"', selector, f"{title}: {metric}")

    def test_turns_counters_into_rates(self):
        for title, query in self.queries:
            for counter in COUNTER.finditer(query):
                before = query[: counter.start()]
                self.assertTrue(before.endswith(("rate(", "increase(")), f"{title}: {counter.group()}")

    def test_takes_its_range_from_grafana(self):
        for title, query in self.queries:
            for span in re.findall(r"\}\[([^\]]*)\]", query):
                self.assertEqual(span, "$__rate_interval", title)

    def test_asks_for_documented_metrics_only(self):
        documented = board.documented_metrics()
        for title, query in self.queries:
            for metric in board.METRIC.findall(query):
                self.assertIn(board.family(metric), documented, title)

    def test_leaves_no_metric_of_the_traffic_unshown(self):
        shown = {board.family(metric) for _, query in self.queries for metric in board.METRIC.findall(query)}
        alerts = (board.DASHBOARDS / "alerts.yml").read_text()
        used = shown | {board.family(metric) for metric in board.METRIC.findall(alerts)}
        ours = {metric for metric in board.documented_metrics() if metric.startswith("penstock_")}
        self.assertEqual(ours - used, set())


class TheAlerts(unittest.TestCase):
    def promtool(self, *arguments):
        ran = subprocess.run(["promtool", *arguments], cwd=board.DASHBOARDS, capture_output=True, text=True, timeout=60)
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)

    def test_and_the_configuration_of_prometheus_are_valid(self):
        self.promtool("check", "config", "prometheus.yml")
        self.promtool("check", "rules", "alerts.yml")

    def test_fire_when_they_should_and_only_then(self):
        self.promtool("test", "rules", "alerts_test.yml")

    def test_are_each_tested_firing_and_silent(self):
        names = re.findall(r"- alert: (\w+)", (board.DASHBOARDS / "alerts.yml").read_text())
        tests = (board.DASHBOARDS / "alerts_test.yml").read_text()
        silent = set(re.findall(r"alertname: (\w+)\n +eval_time: \w+\n +exp_alerts: \[\]", tests))
        firing = set(re.findall(r"alertname: (\w+)\n +eval_time: \w+\n +exp_alerts:\n +- exp_labels", tests))
        self.assertGreater(len(names), 0)
        self.assertEqual(silent, set(names))
        self.assertEqual(firing, set(names))

    def test_ask_for_documented_metrics_only(self):
        alerts = (board.DASHBOARDS / "alerts.yml").read_text()
        for metric in board.METRIC.findall(alerts):
            self.assertIn(board.family(metric), board.documented_metrics())


class TheProvisioning(unittest.TestCase):
    def test_loads_the_dashboard_read_only(self):
        text = (board.DASHBOARDS / "provisioning/dashboards/penstock.yml").read_text()
        self.assertRegex(text, r"(?m)^apiVersion: 1$")
        self.assertRegex(text, r"(?m)^    allowUiUpdates: false$")
        path = re.search(r"(?m)^      path: (\S+)$", text)
        self.assertIsNotNone(path)
        self.assertIn(path.group(1), (board.ROOT / "docs/metrics.md").read_text(), "the manual names another folder")

    def test_reads_as_often_as_prometheus_scrapes(self):
        source = (board.DASHBOARDS / "provisioning/datasources/penstock.yml").read_text()
        prometheus = (board.DASHBOARDS / "prometheus.yml").read_text()
        self.assertRegex(source, r"(?m)^    type: prometheus$")
        interval = re.search(r"scrape_interval: (\w+)", prometheus).group(1)
        self.assertEqual(re.search(r"timeInterval: (\w+)", source).group(1), interval)


if __name__ == "__main__":
    unittest.main()
