# SPDX-License-Identifier: Apache-2.0
"""Reads what dashboards/ and docs/metrics.md hold: panels, queries, metric names. Judges nothing; the tests do."""

import json
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
DASHBOARDS = ROOT / "dashboards"
METRIC = re.compile(r"\b(?:penstock|process)_[a-z_]+\b")


def load():
    return json.loads((DASHBOARDS / "penstock.json").read_text())


def panels(dashboard):
    return [panel for panel in dashboard["panels"] if panel["type"] != "row"]


def queries(dashboard):
    """(title of the panel, expression) of every target."""
    return [(panel["title"], target["expr"]) for panel in panels(dashboard) for target in panel["targets"]]


def variables(dashboard):
    return {variable["name"]: variable for variable in dashboard["templating"]["list"]}


def family(metric):
    """The name under which a histogram's series are documented."""
    return re.sub(r"_(?:bucket|sum|count)$", "", metric)


def documented_metrics():
    """Names that docs/metrics.md lists: the first cell of each row of its tables."""
    manual = (ROOT / "docs/metrics.md").read_text()
    return set(re.findall(r"^\| `((?:penstock|process)_[a-z_]+)(?:\{[^`]*\})?` \|", manual, re.M))


def substituted(expression):
    """As Grafana would send it, with every variable at All and a wide rate interval."""
    values = {"$__rate_interval": "5m", "$job": ".+", "$instance": ".+", "$upstream": ".+"}
    for variable, value in values.items():
        expression = expression.replace(variable, value)
    return expression
