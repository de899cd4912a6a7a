# SPDX-License-Identifier: Apache-2.0
"""What the live test needs around it: an origin, a Redis, the program, a Prometheus. Everything on loopback, on free ports,
in a temporary folder, and ended with the test."""

import http.client
import http.server
import json
import queue
import re
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

import dashboard as board

PATIENCE = 60  # seconds, for anything that is waited for


def until(condition, what):
    """The first true answer of `condition`, asked again and again."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if answer := condition():
            return answer
        time.sleep(0.05)
    raise AssertionError(f"waited {PATIENCE} s in vain for {what}")


class Origin:
    """Answers /ok with 200, /missing with 404, /slow a moment later, and breaks off at /broken."""

    class Answers(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            path = urllib.parse.urlsplit(self.path).path
            if path == "/broken":
                self.connection.shutdown(socket.SHUT_RDWR)
                self.close_connection = True
                return
            if path == "/slow":
                time.sleep(0.3)
            body = b"water" * 20
            self.send_response(404 if path == "/missing" else 200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    def __init__(self):
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self.Answers)
        self.authority = f"127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class Program:
    """A child process whose stderr is watched for a line that says that it is ready."""

    def __init__(self, command, ready, cwd):
        self.lines = []
        self.child = subprocess.Popen(
            command, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        found = queue.Queue()
        threading.Thread(target=self._watch, args=(re.compile(ready), found), daemon=True).start()
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


class Redis(Program):
    """On a Unix socket, and only in memory."""

    def __init__(self, folder):
        self.url = f"unix://{folder / 'redis.sock'}"
        settings = {"port": "0", "unixsocket": "redis.sock", "save": "", "logfile": "/dev/stderr"}
        options = [word for name, value in settings.items() for word in (f"--{name}", value)]
        super().__init__(["redis-server", *options], "ready to accept connections at redis.sock", folder)


class Penstock(Program):
    """The program under test, with one named upstream that is easily filled; everything else falls under `*`."""

    CONFIG = """\
version: 1
proxy: {{ listen: "127.0.0.1:0", grace: 1s }}
admin: {{ listen: "127.0.0.1:0" }}
log: {{ events: "{events}" }}
redis: {{ url: "{redis}" }}
intercept: {{ ca: "{folder}/ca.pem", key: "{folder}/ca-key.pem" }}
upstreams:
  origin:
    match: "{origin}"
    https: intercept
    maxConcurrent: 2
    queue: {{ maxPending: 4, maxWait: 10s }}
    rate: 1000/s
"""

    def __init__(self, binary, origin, redis, folder):
        config = folder / "penstock.yaml"
        config.write_text(
            self.CONFIG.format(origin=origin, redis=redis, events=folder / "events.log", folder=folder))
        subprocess.run([binary, "ca", "init", "--config", str(config)], check=True, stdout=subprocess.DEVNULL)
        ready = r"listening on http://127\.0\.0\.1:(\d+), admin on http://127\.0\.0\.1:(\d+)"
        super().__init__([binary, "run", "--config", str(config)], ready, folder)
        self.port, self.admin_port = (int(port) for port in self.ready.groups())

    def get(self, url):
        """The status of the answer to one request through the proxy."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            connection.request("GET", url)
            answer = connection.getresponse()
            answer.read()
            return answer.status
        finally:
            connection.close()

    def metrics(self):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.admin_port}/metrics", timeout=PATIENCE) as answer:
            return answer.read().decode()


def side_by_side(count, work):
    """What `count` calls of `work` return, all under way at the same time."""
    answers = [None] * count

    def run(place):
        answers[place] = work()

    threads = [threading.Thread(target=run, args=(place,)) for place in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers


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


