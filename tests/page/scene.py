# SPDX-License-Identifier: Apache-2.0
"""What the tests of the page need around it: an origin whose answers the path decides, a Penstock in front of it, and
clients that wait. Everything on loopback, on free ports."""

import contextlib
import http.client
import http.server
import json
import socket
import threading
import urllib.request

from stage import PATIENCE, Program, until


class Origin:
    """/NAME/ok is 200 at once, /NAME/held when it is told to, /NAME/limited is 429 for as many seconds as `retry_after`
    says. Whatever stands behind these does not matter."""

    class Answers(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            what = self.path.split("/")[2].split("?")[0]
            if what == "held":
                self.server.held.wait(PATIENCE)
            with contextlib.suppress(ConnectionError):  # who asked may have gone
                self.send_response(429 if what == "limited" else 200)
                if what == "limited":
                    self.send_header("Retry-After", str(self.server.retry_after))
                self.send_header("Content-Length", "5")
                self.end_headers()
                self.wfile.write(b"water")

        def log_message(self, *_):
            pass

    def __init__(self):
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self.Answers)
        self.server.held, self.server.retry_after = threading.Event(), 60
        self.authority = f"127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.held.set()
        self.server.shutdown()
        self.server.server_close()


class Penstock(Program):
    """`upstreams`: by name, settings in YAML; each has the paths of the origin that begin with its name."""

    def __init__(self, binary, origin, folder, upstreams, more="", details="loopback", admin="127.0.0.1"):
        self.waiting = contextlib.ExitStack()
        self.origin, self.log = origin, folder / "events.log"
        lines = ["version: 1", 'proxy: { listen: "127.0.0.1:0", grace: 1s }',
                 f'admin: {{ listen: "{admin}:0", details: {details} }}', f'log: {{ events: "{self.log}" }}', more, "upstreams:" if upstreams else ""]
        for name, settings in upstreams.items():
            lines.append(f'  {name}: {{ match: "{origin.authority}/{name}", {settings} }}')
        config = folder / "penstock.yaml"
        config.write_text("\n".join(lines) + "\n")
        ready = r"listening on http://127\.0\.0\.1:(\d+), admin on http://[0-9.]+:(\d+)"
        super().__init__([binary, "run", "--config", str(config)], ready, folder)
        self.port, self.admin_port = (int(port) for port in self.ready.groups())
        self.admin = f"http://127.0.0.1:{self.admin_port}/"

    def close(self):
        self.waiting.close()
        super().close()

    def ask(self, path, headers=""):
        """A client that has sent its request, and reads nothing."""
        client = self.waiting.enter_context(socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE))
        client.sendall(f"GET http://{self.origin.authority}{path} HTTP/1.1\r\nHost: {self.origin.authority}\r\n{headers}\r\n".encode())
        return client

    def get(self, path):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        with contextlib.closing(connection):
            connection.request("GET", f"http://{self.origin.authority}{path}")
            answer = connection.getresponse()
            answer.read()
            return answer.status

    def admin_text(self, page):
        with urllib.request.urlopen(self.admin + page, timeout=PATIENCE) as answer:
            return answer.read().decode()

    def upstream(self, name):
        return next(one for one in json.loads(self.admin_text("status"))["upstreams"] if one["name"] == name)

    def until(self, name, condition, what):
        return until(lambda: condition(self.upstream(name)), f"{name}: {what}")

    def events(self, name, kind, count):
        """Those of that kind, once there are so many."""

        def found():
            lines = self.log.read_text().splitlines(keepends=True) if self.log.exists() else []
            events = [json.loads(line) for line in lines if line.endswith("\n")]
            events = [one for one in events if one["upstream"] == name and one["event"] == kind]
            return events if len(events) >= count else None

        return until(found, f"{count} {kind} of {name}")

    def event(self, name, kind):
        """The first one of that kind."""
        return self.events(name, kind, 1)[0]
