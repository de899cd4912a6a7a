# SPDX-License-Identifier: Apache-2.0
# The first minute with the binary: `penstock exec --limit` before the command of an unchanged program, no file, and each
# of its https requests is held to the limit. In a network of this test's own, see CMakeLists.txt.
"""The origin has an address that is not loopback's, and a name in this test's own /etc/hosts: Go and Ruby ask what is on
loopback past every proxy."""
import os
import subprocess
import time
import unittest

import machine
from case import ARGUMENTS, program
from origin import Origin
from stage import NAME, PATIENCE, Folder, Identity

ADDRESS = "10.1.2.3"
COUNT = 5            # requests of each program, unless a test says otherwise
RATE = 4             # a second
APART = 1.022 / RATE  # seconds from one departure to the next, as docs/limits.md has it of a `rate`
LATE = 0.1           # by which the first may arrive late, beside what the machine is late, and shorten what all take
DISTANCE = 0.3       # seconds that a connection to an API far away takes: three round trips of 100 ms
SOON_ENOUGH = 60     # seconds until the first request


def set_up_network(folder):
    folder.write("hosts", f"127.0.0.1 localhost\n{ADDRESS} {NAME}\n".encode())
    for command in (["ip", "link", "set", "lo", "up"], ["ip", "address", "add", f"{ADDRESS}/32", "dev", "lo"],
                    ["mount", "--bind", folder.path("hosts"), "/etc/hosts"]):
        subprocess.run(command, check=True)


class FirstMinute(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.network = Folder()
        cls.addClassCleanup(cls.network.cleanup)
        set_up_network(cls.network)
        cls.addClassCleanup(subprocess.run, ["umount", "/etc/hosts"], check=True)

    def setUp(self):
        self.folder = Folder()
        self.addCleanup(self.folder.cleanup)
        self.identity = Identity(self.folder.path("identity"), address=ADDRESS)
        self.origin = Origin(self.folder.name, self.identity.tls, address=ADDRESS)
        self.addCleanup(self.origin.stop)
        self.count = COUNT
        for name in ("home", "run"):
            os.mkdir(self.folder.path(name), mode=0o700)

    def environment(self):
        """Of a shell in which nothing is set up but whom to trust: a public authority would have signed for an API."""
        return {"PATH": os.environ["PATH"], "HOME": self.folder.path("home"), "XDG_RUNTIME_DIR": self.folder.path("run"),
                "LC_ALL": "C.UTF-8", "SSL_CERT_FILE": self.identity.ca}

    def left(self):
        return [name for at in ("home", "run") for _, folders, files in os.walk(self.folder.path(at))
                for name in folders + files]

    def exec(self, pattern):
        return [os.path.abspath(ARGUMENTS.program), "exec", "--limit", f"{pattern}:{self.origin.port}={RATE}/s"]

    def hold(self, name, agent, pattern=NAME, host=NAME, before=()):
        """`count` requests at once of a program of ours, which knows nothing of a proxy."""
        command = [*before, *self.exec(pattern), *program(name), f"https://{host}:{self.origin.port}/held/", str(self.count)]
        start = time.monotonic()
        done = subprocess.run(command, env=self.environment(), cwd=self.folder.path("home"), capture_output=True, text=True,
                              timeout=PATIENCE, check=False)
        took = time.monotonic() - start
        numbers = range(1, self.count + 1)
        self.assertCountEqual(done.stdout.splitlines(), [f"hello {number}" for number in numbers], done.stderr[-2000:])
        self.assertEqual(done.returncode, 0, done.stderr[-2000:])
        self.assertCountEqual([path for _, path, _ in self.origin.seen], [f"/held/{number}" for number in numbers])
        for _, _, fields in self.origin.seen:
            self.assertEqual(fields["Via"], "1.1 penstock")
            self.assertTrue(fields["User-Agent"].startswith(agent), fields["User-Agent"])
        came = sorted(self.origin.book.came)
        self.assertGreaterEqual(came[-1] - came[0], (self.count - 1) * APART - LATE - machine.late(start))
        self.assertLess(came[0] - start, SOON_ENOUGH)
        self.assertEqual(self.left(), [])
        print(f"{agent}: first request after {came[0] - start:.2f} s, {self.count} in {took:.2f} s", flush=True)

    def test_reaches_private_addresses_as_the_command_itself_would(self):
        plain = Origin(self.folder.name, address=ADDRESS)
        self.addCleanup(plain.stop)
        done = subprocess.run([os.path.abspath(ARGUMENTS.program), "exec", "curl", "--silent", f"http://{NAME}:{plain.port}/"],
                              env=self.environment(), capture_output=True, text=True, timeout=PATIENCE, check=False)
        self.assertEqual((done.stdout, done.returncode), ("hello\n", 0), done.stderr)
        self.assertEqual([fields["Via"] for _, _, fields in plain.seen], ["1.1 penstock"])

    def test_hosts_by_address(self):
        self.hold("curl.sh", "curl/", ADDRESS, ADDRESS)

    def test_hosts_by_pattern(self):
        """Whether what may be signed for is below a domain is judged by each library of TLS by itself."""
        for name, agent in (("curl.sh", "curl/"), ("wget.sh", "Wget/"), ("Client.java", "Java-http-client/"),
                            ("client.go", "Go-http-client/")):
            with self.subTest(name):
                self.origin.seen.clear()
                self.origin.book.came.clear()
                self.hold(name, agent, "*.test")

    def test_one_exec_inside_another(self):
        self.hold("curl.sh", "curl/", before=self.exec(NAME))

    def test_curl(self):
        self.hold("curl.sh", "curl/")

    def test_cold_connections(self):
        """The first requests arrive as late as their connections are made, those behind them on the same ones at once. No
        more arrive in any second for it. A sleep before the handshake stands for the distance."""
        far = Origin(self.folder.name, self.identity.tls, address=ADDRESS, distance=DISTANCE)
        self.addCleanup(far.stop)
        self.origin = far
        self.count = 3 * RATE
        self.hold("curl.sh", "curl/")
        came = sorted(far.book.came)
        in_a_second = [behind - first for first, behind in zip(came, came[RATE:])]
        for first, took in zip(came, in_a_second):  # a stall before `first` came has made it late, and the rest short
            self.assertGreater(took + machine.late(first - DISTANCE, first + took), RATE * APART - LATE, in_a_second)
        print(f"{RATE} and one more take at least {min(in_a_second):.3f} s", flush=True)

    def test_requests_of_python(self):
        self.hold("requests_client.py", "python-requests/")

    def test_fetch_of_node(self):
        self.hold("fetch.mjs", "node")

    def test_java(self):
        self.hold("Client.java", "Java-http-client/")

    def test_go(self):
        self.hold("client.go", "Go-http-client/")

    def test_guzzle_of_php(self):
        self.hold("guzzle.php", "GuzzleHttp/")

    def test_ruby(self):
        self.hold("client.rb", "Ruby")
