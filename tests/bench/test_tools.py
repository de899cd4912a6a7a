# SPDX-License-Identifier: Apache-2.0
"""Do the bench tools count right? Called by CTest with the directory of bench_origin, bench_load and their like.
No proxy takes part, and nothing here is a matter of speed."""

import json
import os
import pathlib
import socket
import socketserver
import ssl
import subprocess
import sys
import tempfile
import threading
import unittest

from interception_page import Sample as InterceptionSample
from interception_page import text_of as interception_text
from measures import Sample
from origination_page import text_of as origination_text
from page import BEGIN, END, put
from processes import Process, cpu_seconds, resident_bytes, tree_of
from proxies import filled
from slow_page import Lag
from slow_page import text_of as slow_text
from tls_origin import LETTERS, make_authority
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

    def test_slow_clients_say_a_byte_a_second_and_come_back_when_they_are_let_go(self):
        with socket.create_server(("127.0.0.1", 0)) as proxy:
            proxy.settimeout(20)
            words = map(str, [proxy.getsockname()[1], 1, 1, 1])
            with Process([str(BUILD / "bench_slow"), *words], CORE) as slow:
                clients = [proxy.accept()[0] for _ in range(3)]
                self.assertEqual(slow.line(), "ready")
                heads = {}
                for client in clients:
                    client.settimeout(20)
                    heads[client] = said = client.recv(4096)
                    self.assertIn(b"Host: 127.0.0.1:", said)
                [head] = [client for client in clients if b"\r\n\r\n" not in heads[client]]
                [body] = [client for client in clients if heads[client].startswith(b"POST ")]
                self.assertEqual(head.recv(1), b"x")
                self.assertEqual(body.recv(1), b"x")
                head.close()
                clients.append(proxy.accept()[0])
                self.assertTrue(clients[-1].recv(4096).startswith(b"GET "))
                self.assertEqual(json.loads(slow.last_words())["let_go"], 1)
                for client in clients:
                    client.close()

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


class Opener(socketserver.ThreadingTCPServer):
    """Takes every CONNECT, speaks TLS inside as that certificate, and gives the answer itself."""
    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, certificate, key):
        super().__init__(("127.0.0.1", 0), None)
        self.port = self.server_address[1]
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.tls.load_cert_chain(certificate, key)
        self.lock = threading.Lock()
        self.heads, self.requests = [], 0

    def __enter__(self):
        threading.Thread(target=self.serve_forever, args=(0.01,)).start()
        return self

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()

    def handle_error(self, *_):
        """Clients that hang up in a handshake are what some tests want."""

    def finish_request(self, request, _):
        head = self.head_from(request)
        with self.lock:
            self.heads.append(head)
        request.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        body = (LETTERS * LENGTH)[:LENGTH].encode()
        with self.tls.wrap_socket(request, server_side=True) as inner:
            while self.head_from(inner):
                with self.lock:
                    self.requests += 1
                inner.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % LENGTH + body)

    @staticmethod
    def head_from(stream):
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            if not (piece := stream.recv(4096)):
                return b""
            head += piece
        return head


class TlsLoad(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        make_authority(self.directory.name)

    def file(self, name):
        return f"{self.directory.name}/{name}"

    def load(self, way, opener, authority, stderr=None):
        words = map(str, [way, opener.port, 443, LENGTH, 4, authority, 0.05, 0.2])
        return Process([str(BUILD / "bench_tls_load"), *words], CORE, stderr=stderr)

    def result_of(self, way, opener):
        with self.load(way, opener, self.file("ca.pem")) as clients:
            self.assertEqual(clients.line(), "ready")
            clients.tell("")
            result = json.loads(clients.line())
        self.assertGreater(result["with_warm_up"], result["requests"])
        self.assertGreaterEqual(result["requests"], 4)
        self.assertGreaterEqual(result["seconds"], 0.2)
        self.assertLessEqual(result["p50_us"], result["p99_us"])
        self.assertEqual(opener.requests, result["with_warm_up"])
        self.assertEqual(set(opener.heads), {b"CONNECT localhost:443 HTTP/1.1\r\nHost: localhost:443\r\n\r\n"})
        return result

    def test_who_keeps_a_connection_asks_on_it_again_and_again(self):
        with Opener(self.file("origin.pem"), self.file("origin.key")) as opener:
            self.assertRegex(self.result_of("kept", opener)["tls"], r"^TLSv1\.3 \w+, EC 256$")
            self.assertEqual(len(opener.heads), 4)

    def test_who_keeps_none_opens_one_for_each_request(self):
        with Opener(self.file("origin.pem"), self.file("origin.key")) as opener:
            result = self.result_of("new", opener)
            self.assertEqual(len(opener.heads), result["with_warm_up"])

    def judgement_on(self, authority):
        with Opener(self.file("origin.pem"), self.file("origin.key")) as opener, \
                tempfile.TemporaryFile("w+") as complaint:
            with self.load("new", opener, authority, stderr=complaint) as clients:
                self.assertEqual(clients.last_words(), "")
                self.assertEqual(clients.code(), 1)
            self.assertEqual(opener.requests, 0)
            complaint.seek(0)
            return complaint.read()

    def test_a_certificate_of_a_stranger_ends_it(self):
        with tempfile.TemporaryDirectory() as stranger:
            make_authority(stranger)
            self.assertIn("unable to get local issuer certificate", self.judgement_on(f"{stranger}/ca.pem"))

    def test_a_certificate_for_another_name_ends_it(self):
        make_authority(self.directory.name, "DNS:other.test")
        self.assertIn("hostname mismatch", self.judgement_on(self.file("ca.pem")))


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

    def test_interception_is_compared_in_each_way_and_names_the_tls_of_who_differs(self):
        def sample(cost):
            return InterceptionSample(1, cost, 1, 1, 1, 1, 0.5, 0, 0.25)

        costs = {("kept", "Penstock"): 20, ("kept", "Squid"): 40, ("new", "Penstock"): 30, ("new", "Squid"): 20}
        samples = {key: sample(cost) for key, cost in costs.items()}
        text = interception_text("Here.", 16, samples, {"Penstock": "TLSv1.3 A, EC 256", "Squid": "TLSv1.3 A, EC 256"})
        self.assertIn("gets: TLSv1.3 A, EC 256.", text)
        self.assertIn("| kept        | Squid   | 0.50 |", text)
        self.assertIn("| one each    | Squid   | 1.50 |", text)
        text = interception_text("Here.", 16, samples, {"Penstock": "TLSv1.3 A, EC 256", "Squid": "TLSv1.2 B, RSA 1"})
        self.assertIn("TLSv1.3 A, EC 256 (Penstock); TLSv1.2 B, RSA 1 (Squid).", text)

    def test_slow_clients_are_judged_by_the_p99_of_the_others(self):
        medians = {slow: Sample(1, 1, 1000, 100, p99, 1, 1, 0) for slow, p99 in ((False, 300), (True, 450))}
        lags = {False: [Lag(100, 0)], True: [Lag(100, 1).since(Lag(40, 0))]}
        text = slow_text("Here.", 16, (2, 2, 1), medians, lags, 7)
        self.assertIn("| met |   1.50 × |", text)
        self.assertIn("1 of 60", text)

    def test_a_configuration_is_filled_in_to_the_end(self):
        self.assertEqual(filled("a @TLS@ b", {"TLS": "ca @CA@;", "CA": "/x"}), "a ca /x; b")
        self.assertRaises(KeyError, filled, "@NOBODY@", {})


class Authority(unittest.TestCase):
    def test_vouches_for_the_origin_by_its_names_and_by_address(self):
        with tempfile.TemporaryDirectory() as directory:
            make_authority(directory)
            named = ["origin.test", "localhost"]
            for how in *(("-verify_hostname", name) for name in named), ("-verify_ip", "127.0.0.1"):
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
