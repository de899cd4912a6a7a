# SPDX-License-Identifier: Apache-2.0
"""Do the bench tools count right? Called by CTest with the directory of bench_origin and bench_load.
No proxy takes part, and nothing here is a matter of speed."""

import json
import os
import pathlib
import subprocess
import sys
import unittest

from page import BEGIN, END, put
from processes import Process, cpu_seconds, resident_bytes, tree_of

BUILD = pathlib.Path(sys.argv.pop())
CORE = min(os.sched_getaffinity(0))
LENGTH = 1024


def origin(length=LENGTH):
    return Process([str(BUILD / "bench_origin"), str(length)], CORE)


def load(mode, port, clients, *times, stderr=None):
    words = map(str, [mode, port, port, LENGTH, clients, *times])
    return Process([str(BUILD / "bench_load"), *words], CORE, stderr=stderr)


def port_of(process):
    return int(process.line().removeprefix("port "))


class BenchTools(unittest.TestCase):
    def test_the_origin_sees_exactly_the_requests_that_the_load_counts(self):
        with origin() as upstream, load("loop", port_of(upstream), 8, 0.05, 0.2) as clients:
            self.assertEqual(clients.line(), "ready")
            clients.tell("")
            result = json.loads(clients.line())
            self.assertGreater(result["requests"], 8)
            self.assertGreater(result["with_warm_up"], result["requests"])
            self.assertGreaterEqual(result["seconds"], 0.2)
            self.assertLessEqual(result["p50_us"], result["p99_us"])
            self.assertEqual(upstream.last_words(), f"requests {result['with_warm_up']} connections 8 most_held 0")

    def test_requests_wait_at_an_origin_that_holds_them_until_it_may_answer(self):
        with origin() as upstream:
            port = port_of(upstream)
            upstream.tell("hold")
            with load("pending", port, 50) as clients:
                self.assertEqual(clients.line(), "sent")
                self.assertTrue(clients.runs())
                upstream.tell("answer")
                self.assertEqual(json.loads(clients.line())["requests"], 50)
            self.assertTrue(upstream.last_words().startswith("requests 50 connections 50 "))

    def test_an_answer_of_another_length_ends_the_load(self):
        with origin(LENGTH + 1) as upstream:
            with load("pending", port_of(upstream), 1, stderr=subprocess.DEVNULL) as clients:
                self.assertEqual(clients.line(), "sent")
                self.assertEqual(clients.last_words(), "")
                self.assertEqual(clients.code(), 1)


class Accounting(unittest.TestCase):
    def test_the_cost_of_a_child_counts_for_its_parent(self):
        burn = "import time\nwhile time.process_time() < 0.2: pass\nprint('burnt', flush=True)\ninput()"
        command = [sys.executable, "-c", f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {burn!r}])"]
        with Process(command, CORE) as parent:
            self.assertEqual(parent.line(), "burnt")
            self.assertEqual(len(tree_of(parent.pid)), 2)
            self.assertGreaterEqual(cpu_seconds(parent.pid), 0.19)
            self.assertGreater(resident_bytes(parent.pid), resident_bytes(tree_of(parent.pid)[1]))

    def test_a_page_keeps_everything_but_what_stands_between_its_markers(self):
        begin, end = BEGIN.format("limits"), END.format("limits")
        page = f"above {begin} old {end} below {BEGIN.format('figures')}"
        self.assertEqual(put("new\n", page, "limits"), page.replace(" old ", "\n\nnew\n\n"))
        self.assertRaises(ValueError, put, "new", "a page without markers")


unittest.main()
