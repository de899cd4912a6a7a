#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
# The hostile requests through the running Penstock alone, and whether the instruments see what they should.
#   test_hostile.py --program=build/release/penstock [unittest's arguments…]
"""What is expected stands in cases.py."""
import argparse
import os
import socket
import sys
import unittest

import outcome
from cases import CASES, Case, get, post
from outcome import AS_SENT, CLEAN, HIDDEN, REFUSED, exchange, is_allowed, judged, play
from sheet import PARTS, cell, text_of
from stage import PATIENCE, Folder, Proxy
from strict import NotYet, Wrong, request_at
from witness import Testimony, Witness

ARGUMENTS = argparse.Namespace()


class Penstock(unittest.TestCase):
    def setUp(self):
        self.folder = Folder()
        self.addCleanup(self.folder.cleanup)
        self.witness = self.enterContext(Witness())
        self.proxy = Proxy(ARGUMENTS.program, self.folder.name)
        self.addCleanup(self._stop)
        self.port = int(self.proxy.url.rpartition(":")[2])

    def _stop(self):
        code, said = self.proxy.stop()
        self.assertNotIn("Sanitizer", said)
        self.assertNotIn("runtime error", said)
        self.assertEqual(code, 0, said)

    def test_does_with_each_hostile_request_what_the_rule_leaves(self):
        for case in CASES:
            with self.subTest(case.name):
                became = play(case, self.port, self.witness, PATIENCE)
                self.assertTrue(is_allowed(case, became), f"RFC {case.rule}: {became}")
                if became.kind == REFUSED and not became.is_begun:
                    self.assertIn(became.status, case.statuses or range(400, 600), "a refusal says what is wrong")
                healthy = Case("", get(fields="Host: @HOST\r\nConnection: close\r\n"), (CLEAN,), "", closes=True)
                self.assertEqual(play(healthy, self.port, self.witness, PATIENCE).kind, CLEAN, "and serves the next one")


class Strictness(unittest.TestCase):
    HOST = "127.0.0.1:9"

    def read(self, text):
        return request_at(Case("", text, (), "").bytes_for(self.HOST), 0)[0]

    def test_takes_what_is_beyond_doubt(self):
        self.assertEqual(self.read(get()).target, f"http://{self.HOST}/case")
        self.assertEqual(self.read(post("Content-Length: 5\r\n", "hello")).body, b"hello")
        chunked = self.read(post("Transfer-Encoding: chunked\r\n", "5;a=b\r\nhello\r\n0\r\nX: t\r\n\r\n"))
        self.assertEqual((chunked.body, chunked.trailers), (b"hello", [("x", "t")]))

    def test_waits_for_the_end(self):
        whole = post("Transfer-Encoding: chunked\r\n", "5\r\nhello\r\n0\r\n\r\n")
        for size in range(len(whole)):
            with self.assertRaises(NotYet):
                self.read(whole[:size])

    def test_takes_nothing_hostile_as_it_was_sent(self):
        # These are sound as messages: what is wrong with them is what stands in them, or behind them.
        sound = {"CONNECT to port 0", "Connection that names Content-Length", "Connection that names another field", "an upgrade to h2c",
                 "credentials for the proxy", "100 KiB of fields", "OPTIONS with Max-Forwards: 0",
                 "an expectation that nobody knows", "Content-Length as a trailer", "a GET with a request as its body",
                 "a request behind Connection: close", "a malformed request behind a good one, then another"}
        for case in CASES:
            with self.subTest(case.name):
                if case.name in sound:
                    request_at(case.bytes_for(self.HOST), 0)
                else:
                    with self.assertRaises(Wrong):
                        request_at(case.bytes_for(self.HOST), 0)


class Outcomes(unittest.TestCase):
    """Straight to the witness, as if a proxy passed everything on."""

    def test_of_a_proxy_that_passes_everything_on_are_noticed(self):
        with Witness() as witness:
            for case in CASES:
                with self.subTest(case.name):
                    became = play(case, witness.port, witness, PATIENCE)
                    harmless = became.kind == CLEAN and not case.trait and CLEAN in case.allowed
                    self.assertTrue(harmless or became.kind in (AS_SENT, HIDDEN) or not is_allowed(case, became), became)

    def test_of_a_connection_that_stays_open_are_noticed(self):
        case = Case("", "", (REFUSED,), "", closes=True)
        seen = Testimony(b"", [], [], False)
        left_open = judged(case, outcome.Heard([(400, True)], False), seen)
        self.assertFalse(is_allowed(case, left_open))
        self.assertIn("left open", cell(case, left_open))
        self.assertTrue(is_allowed(case, judged(case, outcome.Heard([(400, True)], True), seen)))

    def test_of_silence_are_noticed(self):
        with socket.create_server(("127.0.0.1", 0)) as silent:
            heard = exchange(silent.getsockname()[1], b"x", False, 0.1)
        became = judged(CASES[0], heard, Testimony(b"", [], [], False))
        self.assertEqual(became.kind, outcome.HUNG)
        self.assertTrue(cell(CASES[0], became).startswith("**"))


class Page(unittest.TestCase):
    def test_has_a_row_for_each_request_and_marks_what_the_rule_does_not_leave(self):
        became = {("Penstock", case.name): outcome.Outcome(REFUSED, 400) for case in CASES}
        became |= {("Other", case.name): outcome.Outcome(AS_SENT) for case in CASES}
        text = text_of("somewhere", ["Penstock", "Other"], became)
        rows = [line for line in text.splitlines() if line.startswith("| ")]
        self.assertEqual(len(rows), len(CASES) + len(PARTS))
        self.assertIn("**as sent**", text)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True, type=os.path.abspath)
    rest = parser.parse_known_args(namespace=ARGUMENTS)[1]
    unittest.main(argv=[sys.argv[0], *rest])
