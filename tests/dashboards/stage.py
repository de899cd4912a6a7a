# SPDX-License-Identifier: Apache-2.0
"""What the live test needs around it: an origin, a Redis, the program, a Prometheus. Everything on loopback, on free ports,
in a temporary folder, and ended with the test."""

import contextlib
import http.client
import http.server
import json
import queue
import re
import signal
import socket
import ssl
import subprocess
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

import dashboard as board
from tls_origin import make_authority

PATIENCE = 60  # seconds, for anything that is waited for
PAUSE = 3      # seconds that an upstream asks for: several scrapes
SEATS = 30     # connections that a client may have


def until(condition, what):
    """The first true answer of `condition`, asked again and again."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if answer := condition():
            return answer
        time.sleep(0.05)
    raise AssertionError(f"waited {PATIENCE} s in vain for {what}")


class Origin:
    """Answers /ok with 200, /missing with 404, /busy and /overloaded with 503 and 529, /pause with a wish for a pause, /held
    when it is told to, and breaks off at /broken. On one port it is plain, on another it speaks TLS."""

    class Answers(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            path = urllib.parse.urlsplit(self.path).path
            if path == "/broken":
                self.connection.shutdown(socket.SHUT_RDWR)
                self.close_connection = True
                return
            if path == "/held":
                self.server.let_go.wait(PATIENCE)
            body = b"water" * 20
            self.send_response({"/missing": 404, "/pause": 429, "/busy": 503, "/overloaded": 529}.get(path, 200))
            if path == "/pause":
                self.send_header("Retry-After", str(PAUSE))
            if path == "/busy":
                self.send_header("Retry-After", "soon")  # which is no time
            self.send_header("Content-Length", str(len(body)))
            with contextlib.suppress(ConnectionError):  # who asked may have gone
                self.end_headers()
                self.wfile.write(body)

        def log_message(self, *_):
            pass

    def __init__(self, folder):
        make_authority(folder)
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(folder / "origin.pem", folder / "origin.key")
        self.let_go = threading.Event()
        self.servers = [http.server.ThreadingHTTPServer(("127.0.0.1", 0), self.Answers) for _ in range(2)]
        self.port, self.tls_port = (server.server_port for server in self.servers)
        self.authority = f"127.0.0.1:{self.port}"
        self.servers[1].socket = tls.wrap_socket(self.servers[1].socket, server_side=True)
        for server in self.servers:
            server.let_go = self.let_go
            threading.Thread(target=server.serve_forever, daemon=True).start()

    def close(self):
        self.let_go.set()
        for server in self.servers:
            server.shutdown()
            server.server_close()


class Program:
    """A child process whose stderr is watched for a line that says that it is ready."""

    def __init__(self, command, ready, cwd):
        self.lines = []
        self.child = subprocess.Popen(
            command, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        found = queue.Queue()
        self._reader = threading.Thread(target=self._watch, args=(re.compile(ready), found), daemon=True)
        self._reader.start()
        try:
            self.ready = found.get(timeout=PATIENCE)
        except queue.Empty:
            self.ready = None
        if not self.ready:
            self.close()
            raise AssertionError(f"{command[0]} did not get ready:\n{''.join(self.lines)}")

    def _watch(self, ready, found):
        for line in self.child.stderr:
            self.lines.append(line)
            if match := ready.search(line):
                found.put(match)
        found.put(None)

    def close(self):
        self.child.terminate()
        try:
            self.child.wait(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()
        self._reader.join()
        self.child.stderr.close()


class Redis(Program):
    """On a Unix socket, and only in memory."""

    def __init__(self, folder):
        self.url = f"unix://{folder / 'redis.sock'}"
        settings = {"port": "0", "unixsocket": "redis.sock", "save": "", "logfile": "/dev/stderr"}
        options = [word for name, value in settings.items() for word in (f"--{name}", value)]
        super().__init__(["redis-server", *options], "ready to accept connections at redis.sock", folder)


class Penstock(Program):
    """The program under test, with one named upstream that is easily filled, and one that is opened; everything else
    falls under `*`."""

    CONFIG = """\
version: 1
proxy: {{ listen: "127.0.0.1:0", grace: 1s }}
admin: {{ listen: "127.0.0.1:0" }}
log: {{ events: "{events}" }}
redis: {{ url: "{redis}", timeout: 2s }}  # a busy machine is no outage
access: {{ connectPorts: [{port}, {tls_port}], steering: [192.0.2.0/24] }}
caps: {{ connectionsPerClient: {seats} }}
intercept: {{ ca: "{folder}/our-ca.pem", key: "{folder}/our-ca-key.pem" }}
upstreams:
  secure:
    match: "localhost:{tls_port}"
    https: intercept
    tls: {{ ca: "{folder}/ca.pem" }}
    retry: {{ attempts: 2 }}
  dead:
    match: "127.0.0.1:1"
    breaker: {{ failures: 1 }}
  origin:
    match: "127.0.0.1:{port}"
    maxConcurrent: 2
    queue: {{ maxPending: 4, maxWait: 50s }}
    rate: 1000/s
    limits:
      - window: {{ reservoir: 1000000, interval: 1h, name: hour }}
      - counter: {{ max: 1000000, period: 1s, name: reset }}
      - pacer: {{ qps: 1, name: tried, mode: shadow }}
"""

    def __init__(self, binary, origin, redis, folder):
        config = folder / "penstock.yaml"
        config.write_text(self.CONFIG.format(port=origin.port, tls_port=origin.tls_port, redis=redis, seats=SEATS,
                                             events=folder / "events.log", folder=folder))
        subprocess.run([binary, "ca", "init", "--config", str(config)], check=True, stdout=subprocess.DEVNULL)
        ready = r"listening on http://127\.0\.0\.1:(\d+), admin on http://127\.0\.0\.1:(\d+)"
        super().__init__([binary, "run", "--config", str(config)], ready, folder)
        self.port, self.admin_port = (int(port) for port in self.ready.groups())
        self.trust = ssl.create_default_context(cafile=folder / "our-ca.pem")
        self.origin = origin

    def get(self, url, headers={}):
        """The status of the answer to one request through the proxy."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        with contextlib.closing(connection):
            connection.request("GET", url, headers=headers)
            answer = connection.getresponse()
            answer.read()
            return answer.status

    def get_secure(self, path):
        """The same of the upstream that is opened."""
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=PATIENCE, context=self.trust)
        connection.set_tunnel("localhost", self.origin.tls_port)
        with contextlib.closing(connection):
            connection.request("GET", path)
            answer = connection.getresponse()
            answer.read()
            return answer.status

    def leave(self, path, flights):
        """As many clients as may fly, and one that waits; then all of them go without an answer, that one first."""
        with contextlib.ExitStack() as stack:
            clients = []
            for waits in [0] * flights + [1]:
                clients.append(stack.enter_context(socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)))
                clients[-1].sendall(f"GET http://{self.origin.authority}{path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
                self._await("in_flight_requests", len(clients) - waits)
                self._await("pending_requests", waits)
            clients.pop().close()
            self._await("pending_requests", 0)
        self._await("in_flight_requests", 0)

    def _await(self, gauge, value):
        wanted = re.compile(rf'^penstock_{gauge}{{upstream="origin"}} {value}$', re.MULTILINE)
        until(lambda: wanted.search(self.metrics()), f"{gauge} to be {value}")

    @contextlib.contextmanager
    def tunnel(self, host):
        """Through which something has come, and which stays open."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        connection.set_tunnel(host, self.origin.port)
        with contextlib.closing(connection):
            connection.request("GET", "/ok")
            connection.getresponse().read()
            yield

    def crowd(self):
        """As many connections as a client may have, and one too many, which is sent away."""
        with contextlib.ExitStack() as stack:
            for _ in range(SEATS + 1):
                last = stack.enter_context(socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE))
            while last.recv(4096):
                pass
        until(lambda: re.search(r"^penstock_connections 0$", self.metrics(), re.MULTILINE), "the end of the crowd")

    def reload(self):
        before = self._reloads()
        self.child.send_signal(signal.SIGHUP)
        until(lambda: self._reloads() > before, "a reload")

    def _reloads(self):
        return int(re.search(r'^penstock_config_reloads_total{result="success"} (\d+)$', self.metrics(), re.MULTILINE)[1])

    def metrics(self):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.admin_port}/metrics", timeout=PATIENCE) as answer:
            return answer.read().decode()


class Prometheus(Program):
    """The real one, with the project's configuration: only target, interval and the folder of the rules are changed."""

    def __init__(self, target, folder):
        config = (board.DASHBOARDS / "prometheus.yml").read_text()
        rules = str(board.DASHBOARDS / "alerts.yml")
        for old, new in [("127.0.0.1:9128", target), ("15s", "1s"), ("alerts.yml", rules)]:
            assert old in config, f"{old} is not in prometheus.yml any more"
            config = config.replace(old, new)
        (folder / "prometheus.yml").write_text(config)
        self._held = socket.socket()  # nobody else is given its port; Prometheus sets SO_REUSEADDR, and may have it
        self._held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._held.bind(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._held.getsockname()[1]}"
        super().__init__(
            [
                "prometheus",
                f"--config.file={folder / 'prometheus.yml'}",
                f"--storage.tsdb.path={folder / 'tsdb'}",
                f"--web.listen-address={self.url.removeprefix('http://')}",
            ],
            "Server is ready to receive web requests",
            folder,
        )

    def close(self):
        super().close()
        self._held.close()

    def ask(self, page, **parameters):
        """The data of an answer; fails on an error."""
        url = f"{self.url}/api/v1/{page}?{urllib.parse.urlencode(parameters, doseq=True)}"
        try:
            with urllib.request.urlopen(url, timeout=PATIENCE) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{parameters}: {error.read().decode()}") from None

    def value(self, query):
        """Of the only series, or nothing."""
        result = self.ask("query", query=query)["result"]
        return float(result[0]["value"][1]) if result else None


