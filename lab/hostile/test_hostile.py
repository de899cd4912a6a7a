#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
# The hostile requests through the running Penstock alone.
#   test_hostile.py --program=build/release/penstock [unittest's arguments…]
"""What is expected stands in cases.py."""
import argparse
import concurrent.futures
import os
import sys
import unittest

import machine
from cases import CASES, Case, get
from outcome import CLEAN, REFUSED, is_allowed, play
from stage import PATIENCE, Folder, Proxy
from witness import Witness

ARGUMENTS = argparse.Namespace()
AT_ONCE = 6  # for most of the time they wait whether anything more comes
HEALTHY = Case("", get(fields="Host: @HOST\r\nConnection: close\r\n"), (CLEAN,), "", closes=True)


class Penstock(unittest.TestCase):
    def start(self):
        """A proxy with a witness of its own: its port, and the witness."""
        folder = Folder()
        self.addCleanup(folder.cleanup)
        witness = self.enterContext(Witness())
        proxy = Proxy(ARGUMENTS.program, folder.name)
        self.addCleanup(self._stop, proxy)
        return int(proxy.url.rpartition(":")[2]), witness

    def _stop(self, proxy):
        code, said = proxy.stop()
        self.assertNotIn("Sanitizer", said)
        self.assertNotIn("runtime error", said)
        self.assertEqual(code, 0, said)

    def test_does_with_each_hostile_request_what_the_rule_leaves(self):
        stages = [self.start() for _ in range(AT_ONCE)]

        def played(begin):
            """What became of each case, and of a healthy request behind it."""
            return [(case, play(case, *stages[begin], PATIENCE), play(HEALTHY, *stages[begin], PATIENCE))
                    for case in CASES[begin::AT_ONCE]]

        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            found = [one for some in pool.map(played, range(AT_ONCE)) for one in some]
        self.assertEqual(len(found), len(CASES))
        for case, became, behind in found:
            with self.subTest(case.name):
                self.assertTrue(is_allowed(case, became), f"RFC {case.rule}: {became}")
                if became.kind == REFUSED and not became.is_begun:
                    self.assertIn(became.status, case.statuses or range(400, 600), "a refusal says what is wrong")
                self.assertEqual(behind.kind, CLEAN, "and serves the next one")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True, type=os.path.abspath)
    rest = parser.parse_known_args(namespace=ARGUMENTS)[1]
    machine.watch()
    unittest.main(argv=[sys.argv[0], *rest])
