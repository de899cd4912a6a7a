#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
# What is shipped: the lists of script/packages against the built program, and the Dockerfile against both.
#   packaging_test.py --root=. --program=build/release/penstock [unittest's arguments…]
"""No Docker engine is needed: what can go out of step is read, not run."""
import argparse
import http.server
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import unittest

import shut_in

ARGUMENTS = argparse.Namespace()


def read(name):
    with open(os.path.join(ARGUMENTS.root, name), encoding="utf-8") as file:
        return file.read()


def listed(task):
    """The packages of a list."""
    lines = read(f"script/packages/{task}").splitlines()
    return [line.split()[0] for line in lines if line.strip() and not line.startswith("#")]


def needed_libraries(program):
    """The names of the shared libraries that a program asks for itself."""
    said = subprocess.run(["readelf", "--dynamic", program], capture_output=True, text=True, check=True).stdout
    return re.findall(r"\(NEEDED\).*\[(.+)\]", said)


def owner(library):
    """The package that brings a library, by the file that the loader would take."""
    cache = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=True).stdout
    path = re.search(rf"^\s*{re.escape(library)} .*=> (/\S+)$", cache, re.MULTILINE).group(1)
    for candidate in (path, os.path.realpath(path), path.removeprefix("/usr"), "/usr" + path):
        found = subprocess.run(["dpkg-query", "--search", candidate], capture_output=True, text=True, check=False)
        if found.returncode == 0:
            return found.stdout.split(":")[0]
    raise AssertionError(f"no package owns {path}")


class Packages(unittest.TestCase):
    def test_the_run_list_is_what_the_program_is_linked_to_and_whom_it_trusts(self):
        # Without authorities every request over TLS fails. Sanitizers and the like are this build's, not the program's; the loader comes with the C library.
        ours = [name for name in needed_libraries(ARGUMENTS.program) if not re.match(r"(lib(asan|ubsan|tsan)|ld-linux)\W", name)]
        self.assertEqual({owner(name) for name in ours} | {"ca-certificates"}, set(listed("run")))

def instructions(text):
    """The Dockerfile's instructions as (word, rest), continued lines joined."""
    joined = re.sub(r"\\\n", " ", text)
    lines = [line.strip() for line in joined.splitlines()]
    return [tuple(line.split(None, 1)) for line in lines if line and not line.startswith("#")]


class Dockerfile(unittest.TestCase):
    def setUp(self):
        self.lines = instructions(read("Dockerfile"))
        split = max(at for at, (word, _) in enumerate(self.lines) if word == "FROM")
        self.build, self.ship = self.lines[:split], self.lines[split:]

    def said(self, stage, word):
        return [rest for name, rest in stage if name == word]

    def test_runs_as_nobody_in_particular(self):
        user = self.said(self.ship, "USER")[-1]
        self.assertRegex(user, r"^[1-9]\d*:[1-9]\d*$")
        self.assertIn(f"--uid {user.split(':')[0]} ", " ".join(self.said(self.ship, "RUN")))

    def test_runs_the_configuration_of_containers(self):
        self.assertIn("config/container.yaml /etc/penstock/penstock.yaml", self.said(self.ship, "COPY"))
        command = json.loads(self.said(self.ship, "ENTRYPOINT")[0]) + json.loads(self.said(self.ship, "CMD")[0])
        self.assertEqual(command, ["penstock", "run", "--config", "/etc/penstock/penstock.yaml"])

    def test_exposes_the_ports_of_that_configuration(self):
        ports = re.findall(r"listen: 0\.0\.0\.0:(\d+)", read("config/container.yaml"))
        self.assertEqual(len(ports), 2)
        self.assertEqual(self.said(self.ship, "EXPOSE"), [" ".join(ports)])

    def test_drains_on_stop_and_can_be_asked_for_its_health(self):
        self.assertEqual(self.said(self.ship, "STOPSIGNAL"), ["SIGTERM"])
        check = self.said(self.ship, "HEALTHCHECK")[0]
        command = json.loads(check[check.index("["):])
        self.assertEqual(command[:2], ["penstock", "healthcheck"])
        helped = subprocess.run([ARGUMENTS.program, "healthcheck", "--help"], capture_output=True, text=True, check=True)
        self.assertIn(command[2], helped.stdout)

    def test_copies_only_what_the_ignore_file_lets_through(self):
        let_through = [line[1:] for line in read(".dockerignore").splitlines() if line.startswith("!")]
        for rest in self.said(self.lines, "COPY"):
            for source in rest.split()[:-1]:
                if not source.startswith("--from") and not source.startswith("/src") and source != ".":
                    self.assertIn(source.split("/")[0], let_through, source)
        for part in let_through:
            self.assertTrue(os.path.exists(os.path.join(ARGUMENTS.root, part)), part)

    def test_the_configuration_is_valid(self):
        path = os.path.join(ARGUMENTS.root, "config/container.yaml")
        done = subprocess.run([ARGUMENTS.program, "check", path], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


UNITS = "config/systemd"


def settings(unit):
    """What stands in a unit: each key with all its values, in order."""
    found = {}
    for line in read(f"{UNITS}/{unit}").splitlines():
        key, equals, value = line.partition("=")
        if equals and not line.startswith("#"):
            found.setdefault(key, []).append(value)
    return found


def seconds(text):
    number, unit = re.fullmatch(r"(\d+)(s|m)", text).groups()
    return int(number) * {"s": 1, "m": 60}[unit]


def analyze(*arguments):
    done = subprocess.run(["systemd-analyze", *arguments], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


SECRET = "$6$rounds=1000$penstocktests$AfRQtrfb5RK4cQ2vuLCpkBp1GE09m0B7Iy0nwsubiZmLuTDPJ2ER2eZS6B29bWMHXRt47jMGhzIltnR9eCzTC0"  # "secret"


class Origin(http.server.ThreadingHTTPServer):
    """Answers every GET, in a thread."""

    class Answers(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_):
            pass

    def __init__(self):
        super().__init__(("127.0.0.1", 0), self.Answers)
        self.port = self.server_address[1]
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()


class Daemon:
    """The program as the unit would run it, with someone to notify and a heartbeat."""

    def __init__(self, folder, unit, port):
        self.notified = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.notified.bind(f"{folder}/notify")
        threading.Thread(target=self.listen, daemon=True).start()
        with open(f"{folder}/users", "w", encoding="utf-8") as file:
            file.write(f"ada:{SECRET}\n")
        with open(f"{folder}/penstock.yaml", "w", encoding="utf-8") as file:
            file.write("version: 1\nproxy: { listen: 127.0.0.1:0 }\nadmin: { listen: 127.0.0.1:0 }\n"
                       f"log: {{ events: {folder}/events }}\naccess: {{ users: {folder}/users, connectPorts: [{port}] }}\n")
        environment = {**os.environ, "NOTIFY_SOCKET": f"{folder}/notify", "WATCHDOG_USEC": "10000"}
        self.process = shut_in.start(unit, [ARGUMENTS.program, "run", "--config", f"{folder}/penstock.yaml"],
                                     env=environment, stderr=subprocess.PIPE, text=True)
        ports = re.search(r"http://127.0.0.1:(\d+), admin on http://127.0.0.1:(\d+)", self.line_with("listening on"))
        self.ports = {"proxy": int(ports.group(1)), "admin": int(ports.group(2))}

    def listen(self):
        while True:
            self.notified.recv(4096)

    def line_with(self, words):
        for line in self.process.stderr:
            if words in line:
                return line
        raise AssertionError(f"it ends without '{words}', with {self.process.wait()}")

    def ask(self, port, head, user=False, end=b""):
        lines = "Proxy-Authorization: Basic YWRhOnNlY3JldA==\r\n" if user else ""
        with socket.create_connection(("127.0.0.1", self.ports[port]), timeout=20) as peer:
            peer.sendall(f"{head}{lines}Connection: close\r\n\r\n".encode())
            answer = b""
            while some := peer.recv(65536):
                answer += some
                if end and end in answer:
                    break
        return answer

    def rest(self):
        said = self.process.communicate(timeout=60)[1]
        return said, self.process.returncode


class Service(unittest.TestCase):
    def test_is_shut_in_tightly(self):
        code, said = analyze("security", "--offline=true", "--no-pager", f"{ARGUMENTS.root}/{UNITS}/penstock.service")
        self.assertEqual(code, 0, said)
        exposure = re.search(r"Overall exposure level for penstock.service: ([\d.]+)", said).group(1)
        version = re.search(r"systemd (\d+)", analyze("--version")[1]).group(1)
        print(f"exposure {exposure}, systemd {version} ", end="", file=sys.stderr, flush=True)
        self.assertLessEqual(float(exposure), 1.5, said)
        told = re.search(r"systemd-analyze security penstock` says ([\d.]+) \(systemd (\d+)\)", read("docs/operating.md"))
        if told.group(2) == version:  # others weigh otherwise
            self.assertEqual(exposure, told.group(1), "docs/operating.md says otherwise")

    def test_units_have_no_faults(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("penstock.service", "penstock.socket"):
                with open(os.path.join(folder, name), "w", encoding="utf-8") as unit:
                    text = read(f"{UNITS}/{name}").replace("ExecStart=penstock", f"ExecStart={os.path.abspath(ARGUMENTS.program)}")
                    unit.write(text)
            said = analyze("verify", "--man=no", f"{folder}/penstock.socket", f"{folder}/penstock.service")[1]
        ours = [line for line in said.splitlines() if "penstock" in line]  # not what is wrong with this machine's own
        self.assertEqual(ours, [])

    def test_waits_for_the_end_of_a_drain(self):
        grace = re.search(r"^  grace: (\w+)", read("config/reference.yaml"), re.MULTILINE).group(1)
        stop = settings("penstock.service")["TimeoutStopSec"][0]
        self.assertGreater(seconds(stop), seconds(grace) + 5)

    def test_may_open_as_many_files_as_the_caps_may_need(self):
        connections = int(re.search(r"^  connections: (\d+)", read("config/reference.yaml"), re.MULTILINE).group(1))
        self.assertGreater(int(settings("penstock.service")["LimitNOFILE"][0]), 2 * connections)

    def test_socket_is_that_of_the_default_configuration(self):
        port = settings("penstock.socket")
        self.assertIn(f"listen: {port['ListenStream'][0]}", read("config/reference.yaml"))
        self.assertEqual((len(port["ListenStream"]), port["FileDescriptorName"]), (1, ["proxy"]))
        self.assertNotIn("Accept", port)

    def test_lives_a_life_with_the_system_calls_that_it_is_allowed(self):
        with tempfile.TemporaryDirectory() as folder, Origin() as origin:
            daemon = Daemon(folder, settings("penstock.service"), origin.port)
            try:
                for host in (f"127.0.0.1:{origin.port}", f"localhost:{origin.port}"):
                    self.assertIn(b"200 OK", daemon.ask("proxy", f"GET http://{host}/ HTTP/1.1\r\nHost: {host}\r\n", user=True))
                self.assertIn(b"407 ", daemon.ask("proxy", f"GET http://{host}/ HTTP/1.1\r\nHost: {host}\r\n"))
                self.assertIn(b"200 ", daemon.ask("proxy", f"CONNECT {host} HTTP/1.1\r\nHost: {host}\r\n", user=True, end=b"\r\n\r\n"))
                for path in ("/metrics", "/status", "/readyz"):
                    self.assertIn(b"200 OK", daemon.ask("admin", f"GET {path} HTTP/1.1\r\nHost: localhost\r\n"))
                daemon.process.send_signal(signal.SIGHUP)
                self.assertIn("reloaded", daemon.line_with("reloaded"))
            finally:
                daemon.process.send_signal(signal.SIGTERM)
                said, code = daemon.rest()
        self.assertEqual(code, 0, said)

    def test_ends_what_calls_something_else(self):
        process = shut_in.start(settings("penstock.service"), ["/bin/chown", "0", "/dev/null"])
        self.assertEqual(process.wait(), -signal.SIGSYS)

    def test_is_installed_where_systemd_looks(self):
        with tempfile.TemporaryDirectory() as prefix:
            build = os.path.dirname(os.path.abspath(ARGUMENTS.program))
            subprocess.run(["cmake", "--install", build, "--prefix", prefix, "--component", "runtime"],
                           capture_output=True, check=True)
            there = sorted(os.listdir(f"{prefix}/lib/systemd/system"))
        self.assertEqual(there, ["penstock.service", "penstock.socket"])


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", required=True)
    parser.add_argument("--program", required=True)
    rest = parser.parse_known_args(namespace=ARGUMENTS)[1]
    unittest.main(argv=[sys.argv[0], *rest])
