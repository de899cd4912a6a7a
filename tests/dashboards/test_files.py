# SPDX-License-Identifier: Apache-2.0
"""The queries and alerts of dashboards/ against docs/metrics.md, and the alerts by promtool."""

import re
import subprocess
import unittest

import dashboard as board

COUNTER = re.compile(r"\b(?:penstock|process)_[a-z_]+_(?:total|bucket|sum|count)\b")


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


class ThePanels(unittest.TestCase):
    def test_have_each_a_place_and_a_number_of_their_own(self):
        panels = board.load()["panels"]
        numbers = [panel["id"] for panel in panels]
        self.assertEqual(len(set(numbers)), len(numbers))
        taken = {}
        for panel in panels:
            at = panel["gridPos"]
            for cell in [(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])]:
                self.assertIsNone(taken.get(cell), f"{panel['title']} lies over it")
                taken[cell] = panel["title"]


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

    def test_have_each_a_section_of_the_runbook_and_a_row_of_the_page(self):
        alerts = (board.DASHBOARDS / "alerts.yml").read_text()
        names = re.findall(r"- alert: (\w+)", alerts)
        urls = re.findall(r'runbook_url: "([^"]*)"', alerts)
        self.assertEqual(urls, [f"docs/runbook.md#{name.lower()}" for name in names])
        runbook = (board.ROOT / "docs/runbook.md").read_text()
        sections = dict(re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", runbook, re.MULTILINE | re.DOTALL))
        self.assertEqual(set(sections), set(names))
        for name, section in sections.items():
            self.assertEqual(re.findall(r"^- \*\*(.*?):\*\*", section, re.MULTILINE), ["Means", "Look at", "Do"], name)
        page = (board.ROOT / "docs/metrics.md").read_text()
        self.assertEqual(set(re.findall(r"^\| `(Penstock\w+)` \|", page, re.MULTILINE)), set(names))

    def test_ask_for_documented_metrics_only(self):
        alerts = (board.DASHBOARDS / "alerts.yml").read_text()
        for metric in board.METRIC.findall(alerts):
            self.assertIn(board.family(metric), board.documented_metrics())


if __name__ == "__main__":
    unittest.main()
