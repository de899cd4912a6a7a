# SPDX-License-Identifier: Apache-2.0
"""Do the bench tools count right? Called by CTest with the directory of bench_origin, bench_load and bench_tunnels.
No proxy takes part, and nothing here is a matter of speed."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from measures import Sample
from origination_page import text_of as origination_text
from page import BEGIN, END, put
from processes import Process, cpu_seconds, resident_bytes, tree_of
from proxies import filled
from tls_origin import make_authority
from tunnel_page import Flow, FlowSample
from tunnel_page import text_of as tunnel_text

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


def far_end(stderr=None):
    return Process([str(BUILD / "bench_tunnels")], CORE, stderr=stderr)


class TunnelTools(unittest.TestCase):
    """`plain`, and through nobody: the far end leads to itself."""

    def result_of(self, tunnels, order):
        tunnels.tell(order)
        self.assertEqual(tunnels.line(), "ready")
        tunnels.tell("")
        return json.loads(tunnels.line())

    def test_bytes_are_counted_in_each_direction_alone_and_in_both(self):
        with far_end() as tunnels:
            port = port_of(tunnels)
            for direction in ("up", "down", "both"):
                for write in (1024, 65536):
                    result = self.result_of(tunnels, f"flow {port} plain 4 {write} {direction} 0.05 0.1")
                    self.assertGreater(result["bytes"], 100 * write)
                    self.assertGreaterEqual(result["seconds"], 0.1)
                    self.assertEqual(result["tunnels"], 0)
            self.assertEqual(tunnels.last_words(), "")
            self.assertEqual(tunnels.code(), 0)

    def test_tunnels_that_are_opened_and_closed_are_counted_and_timed(self):
        with far_end() as tunnels:
            result = self.result_of(tunnels, f"churn {port_of(tunnels)} plain 8 0.05 0.2")
            self.assertGreater(result["tunnels"], 8)
            self.assertGreater(result["with_warm_up"], result["tunnels"])
            self.assertGreater(result["p50_us"], 0)
            self.assertLessEqual(result["p50_us"], result["p99_us"])

    def test_a_proxy_that_refuses_a_tunnel_ends_them(self):
        with far_end(stderr=subprocess.DEVNULL) as tunnels, origin() as refusing:  # which answers with a body
            port_of(tunnels)
            tunnels.tell(f"churn {port_of(refusing)} connect 1 0.05 0.1")
            self.assertEqual(tunnels.last_words(), "")
            self.assertEqual(tunnels.code(), 1)


class Pages(unittest.TestCase):
    def test_tunnels_are_within_their_aim_beside_haproxy_or_miss_it(self):
        flow = Flow("down", 65536)
        flows = {(flow, name): FlowSample(cost, 1, 1, 0.5, 0) for name, cost in (("Penstock", 1.3), ("HAProxy", 1))}
        text = tunnel_text("Here.", 16, flows, {}, 64)
        self.assertIn("1.2 × HAProxy's | **missed** |   1.30 × |", text)
        flows[flow, "Penstock"] = FlowSample(1.1, 1, 0.5, 0.99, 0)
        text = tunnel_text("Here.", 16, flows, {}, 64)
        self.assertIn("1.2 × HAProxy's | met |   1.10 × |", text)
        self.assertIn("1.00 †", text)

    def test_origination_is_judged_by_how_its_ratio_to_nginx_changes(self):
        def sample(cost):
            return Sample(1, cost, 1, 1, 1, 1, 0.5, 0)

        costs = {("http", "Penstock"): 20, ("http", "nginx"): 10, ("https", "Penstock"): 42, ("https", "nginx"): 20}
        text = origination_text("Here.", {key: sample(cost) for key, cost in costs.items()})
        self.assertIn("| met | 2.10 ÷ 2.00 = 1.05 |", text)

    def test_a_configuration_is_filled_in_to_the_end(self):
        self.assertEqual(filled("a @TLS@ b", {"TLS": "ca @CA@;", "CA": "/x"}), "a ca /x; b")
        self.assertRaises(KeyError, filled, "@NOBODY@", {})


class Authority(unittest.TestCase):
    def test_vouches_for_the_origin_by_name_and_by_address(self):
        with tempfile.TemporaryDirectory() as directory:
            make_authority(directory)
            for how in ("-verify_hostname", "origin.test"), ("-verify_ip", "127.0.0.1"):
                said = subprocess.run(["openssl", "verify", "-x509_strict", "-CAfile", "ca.pem", *how, "origin.pem"],
                                      cwd=directory, capture_output=True, text=True)
                self.assertEqual(said.stdout, "origin.pem: OK\n", said.stderr)


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
