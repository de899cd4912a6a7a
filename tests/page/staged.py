# SPDX-License-Identifier: Apache-2.0
"""What the tests of the page have in common: their arguments, a Penstock with a browser before it, and a look at a cell."""

import argparse
import json
import pathlib
import sys
import tempfile
import unittest

import machine
from browser import Browser
from scene import Origin, Penstock

given = argparse.Namespace()

ROW = """[...document.querySelectorAll('tbody.up')].find(row => row.querySelector('.name button').textContent === %s)"""


def cell(tab, upstream, kind):
    """The text of a cell; nothing if there is no such row."""
    return tab.evaluate(f"({ROW % json.dumps(upstream)})?.querySelector('{kind}')?.textContent ?? ''")


class Staged(unittest.TestCase):
    """A Penstock of its own for each class, and a browser."""

    UPSTREAMS = {}
    MORE = {}

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="penstock-page-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.origin = Origin()
        cls.addClassCleanup(cls.origin.close)
        cls.penstock = Penstock(given.program, cls.origin, cls.folder, cls.UPSTREAMS, **cls.MORE)
        cls.addClassCleanup(cls.penstock.close)
        cls.browser = Browser(given.node, given.chromium)
        cls.addClassCleanup(cls.browser.close)

    def open(self, **how):
        tab = self.browser.open(self.penstock.admin, **how)
        self.addCleanup(tab.close)
        return tab

    def assert_quiet(self, tab):
        """It asked nobody else for anything, and complained of nothing."""
        seen = tab.ask("seen")
        self.assertEqual([url for url in seen["requests"] if not url.startswith((self.penstock.admin, "data:"))], [])
        self.assertEqual(seen["errors"], [])


def main():
    """Runs the tests of the program that calls."""
    parser = argparse.ArgumentParser()
    for name in ("program", "node", "chromium"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--write", action="store_true")
    _, rest = parser.parse_known_args(namespace=given)
    given.program = str(pathlib.Path(given.program).resolve())
    machine.watch()
    unittest.main(argv=[sys.argv[0], *rest])
