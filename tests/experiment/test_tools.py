# SPDX-License-Identifier: Apache-2.0
"""Do the experiment's tools count right? Called by CTest with the build directory. No Penstock takes part."""

import asyncio
import json
import pathlib
import socket
import sys
import time
import unittest

import readings
from readings import MS
from stage import Failed, Redis, Tools
from visitors import Crowd, Visits

TOOLS = Tools(pathlib.Path(sys.argv.pop()), penstock=None)


def ask(port, process, group):
    with socket.create_connection(("127.0.0.1", port)) as client:
        client.sendall(f"GET /{group} HTTP/1.1\r\nHost: x\r\nExperiment-Process: {process}\r\n\r\n".encode())
        return client.recv(4096)


class OriginAndWorkers(unittest.TestCase):
    def test_the_origin_keeps_time_process_and_group_of_each_arrival(self):
        with TOOLS.origin() as origin:
            before = time.time_ns()
            self.assertTrue(ask(origin.port, 3, 17).startswith(b"HTTP/1.1 200"))
            between = time.time_ns()
            ask(origin.port, 4, 0)
            first, second = origin.arrivals()
        self.assertEqual((first.process, first.group, second.process, second.group), (3, 17, 4, 0))
        self.assertLess(before - MS, first.at)
        self.assertLess(first.at, second.at)
        self.assertLess(first.at, between + MS)

    def test_workers_go_through_their_own_proxy_and_count_every_answer(self):
        with TOOLS.origin() as origin, TOOLS.workers(origin.port, 5, 1, [origin.port, origin.port]) as workers:
            self.assertEqual(workers.line(), "ready")
            workers.tell("")
            report = json.loads(workers.line())
            arrivals = origin.arrivals()
        self.assertEqual(readings.shares(arrivals, 2), report["answers"])
        self.assertGreater(min(report["answers"]), 5)
        self.assertGreater(min(report["worst_ms"]), 0)

    def test_noise_is_a_lateness_of_a_machine_that_works(self):
        with TOOLS.noise() as noise:
            time.sleep(0.05)  # what is measured takes time
            words = noise.last_words().split()
        self.assertEqual(words[::2], ["worst_us", "p99_us", "late_us"])
        self.assertGreater(float(words[1]), 0)
        self.assertGreaterEqual(float(words[1]), float(words[3]))


class Visitors(unittest.TestCase):
    def test_each_asks_once_at_its_time(self):
        with TOOLS.origin() as origin:
            visits = Visits(Crowd(per_second=200, groups=4), origin.port, [origin.port] * 3)
            asyncio.run(visits.go_on_for(1))
            arrivals = origin.arrivals()
        self.assertGreaterEqual(len(arrivals), visits.answers)
        self.assertLessEqual(len(arrivals), visits.answers + visits.left)  # who left at the end may not have asked yet
        self.assertGreater(visits.answers, 100)
        self.assertEqual({arrival.process for arrival in arrivals}, {0, 1, 2})
        self.assertEqual({arrival.group for arrival in arrivals}, {1, 2, 3, 4})

    def test_they_leave_when_their_patience_is_over(self):
        with socket.create_server(("127.0.0.1", 0)) as silent:
            port = silent.getsockname()[1]
            visits = Visits(Crowd(per_second=50, patience=0.1), port, [port])
            asyncio.run(visits.go_on_for(0.5))
        self.assertEqual(visits.answers, 0)
        self.assertGreater(visits.left, 5)

    def test_a_connection_that_breaks_is_a_failure(self):
        with socket.socket() as deaf:  # has its port, and does not listen
            deaf.bind(("127.0.0.1", 0))
            with TOOLS.relay(deaf.getsockname()[1]) as nobody:
                visits = Visits(Crowd(per_second=50), nobody.port, [nobody.port])
                self.assertRaises((EOFError, ConnectionError), asyncio.run, visits.go_on_for(0.5))


class Echo:
    """Answers on one connection, from this thread, when it is told to."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]

    def accept(self):
        connection, _ = self.listener.accept()
        connection.settimeout(10)
        return connection


class RelayDelays(unittest.TestCase):
    def setUp(self):
        self.target = Echo()
        self.addCleanup(self.target.listener.close)

    def connect(self, relay):
        client = socket.create_connection(("127.0.0.1", relay.port), timeout=10)
        self.addCleanup(client.close)
        server = self.target.accept()
        self.addCleanup(server.close)
        return client, server

    def round_trip(self, client, server):
        begin = time.monotonic()
        client.sendall(b"there")
        self.assertEqual(server.recv(100), b"there")
        server.sendall(b"back")
        self.assertEqual(client.recv(100), b"back")
        return time.monotonic() - begin

    def test_bytes_take_the_delay_each_way_and_hardly_more(self):
        with TOOLS.relay(self.target.port, 2500) as relay:
            client, server = self.connect(relay)
            trips = sorted(self.round_trip(client, server) for _ in range(50))
            self.assertGreaterEqual(trips[0], 0.005)
            self.assertLess(trips[0], 0.02)  # the quickest: the machine may be busy with others

    def test_a_changed_delay_holds_for_what_comes_after(self):
        with TOOLS.relay(self.target.port) as relay:
            client, server = self.connect(relay)
            self.assertLess(min(self.round_trip(client, server) for _ in range(20)), 0.005)
            relay.order("delay 20000")
            self.assertGreaterEqual(self.round_trip(client, server), 0.04)

    def test_much_arrives_whole_and_in_order(self):
        with TOOLS.relay(self.target.port, 1000) as relay:
            client, server = self.connect(relay)
            sent = bytes(range(256)) * 40
            for at in range(0, len(sent), 100):
                client.sendall(sent[at:at + 100])
            received = b""
            while len(received) < len(sent):
                received += server.recv(65536)
            self.assertEqual(received, sent)

    def test_an_end_is_passed_on_after_the_last_byte(self):
        with TOOLS.relay(self.target.port, 1000) as relay:
            client, server = self.connect(relay)
            client.sendall(b"last")
            client.shutdown(socket.SHUT_WR)
            self.assertEqual(server.recv(100), b"last")
            self.assertEqual(server.recv(100), b"")


class RelayFails(unittest.TestCase):
    def setUp(self):
        self.target = Echo()
        self.addCleanup(self.target.listener.close)

    def connect(self, relay):
        return RelayDelays.connect(self, relay)

    def test_cut_resets_what_there_is_and_what_comes_until_pass(self):
        with TOOLS.relay(self.target.port) as relay:
            client, server = self.connect(relay)
            relay.order("cut")
            self.assertRaises(ConnectionResetError, client.recv, 1)
            self.assertRaises(ConnectionResetError, server.recv, 1)
            with socket.create_connection(("127.0.0.1", relay.port)) as refused:
                self.assertRaises(ConnectionResetError, refused.recv, 1)
            relay.order("pass")
            client, server = self.connect(relay)
            client.sendall(b"again")
            self.assertEqual(server.recv(100), b"again")

    def test_the_hole_answers_nothing_and_resets_what_lost_bytes_at_its_end(self):
        with TOOLS.relay(self.target.port) as relay:
            losing, at_target = self.connect(relay)
            idle, at_target_too = self.connect(relay)
            relay.order("hole")
            losing.sendall(b"lost")
            losing.settimeout(1)
            self.assertRaises(TimeoutError, losing.recv, 1)
            relay.order("pass")
            self.assertRaises(ConnectionResetError, losing.recv, 1)
            self.assertRaises(ConnectionResetError, at_target.recv, 1)
            idle.sendall(b"kept")
            self.assertEqual(at_target_too.recv(100), b"kept")

    def test_where_nobody_listens_a_connection_is_reset(self):
        with TOOLS.relay(self.target.port) as relay:
            self.target.listener.close()
            with socket.create_connection(("127.0.0.1", relay.port)) as refused:
                self.assertRaises(ConnectionResetError, refused.recv, 1)

    def test_an_unknown_order_ends_it(self):
        with TOOLS.relay(self.target.port) as relay:
            self.assertRaises(Failed, relay.order, "burn")


class RedisCosts(unittest.TestCase):
    def test_a_call_is_what_a_client_sends_and_not_what_a_script_does(self):
        with Redis() as redis:
            before = redis.cost()
            redis.ask("PING")
            redis.ask("EVAL", "for i = 1, 100000 do redis.call('SET', KEYS[1], i) end", "1", "key")
            after = redis.cost()
        self.assertEqual(after.calls - before.calls, 2)
        self.assertGreater(after.seconds, before.seconds)


unittest.main()
