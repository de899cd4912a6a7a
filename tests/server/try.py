#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""script/server as a newcomer uses it: builds what is here, says that it is ready, passes a request on, and ends with 0
when it is told to.   try.py [SECONDS that the build may take]"""

import contextlib
import http.server
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
BODY = b"through the proxy\n"
CONFIG = "version: 1\nproxy: { listen: 127.0.0.1:0 }\nadmin: { listen: 127.0.0.1:0 }\n"


class Origin(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", str(len(BODY)))
        self.send_header("X-Via", self.headers.get("Via", "nobody"))
        self.end_headers()
        self.wfile.write(BODY)

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def origin():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Origin) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@contextlib.contextmanager
def server(config, most):
    """What script/server says on stderr, line by line; it is killed if it takes longer than `most` seconds."""
    command = [ROOT / "script/server", "--config", config]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True) as process:
        def kill():
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # with the compilers that it may have started

        giving_up = threading.Timer(most, kill)
        giving_up.start()
        try:
            yield process
        finally:
            giving_up.cancel()
            kill()


def addresses(lines):
    """Of the proxy and of the admin port, as soon as they are told."""
    said = []
    for line in lines:
        said.append(line)
        if found := re.search(r"listening on (http://\S+), admin on (http://\S+)", line):
            return found.groups()
    raise SystemExit("script/server ended before it listened:\n" + "".join(said[-20:]))


def fetch(url, proxy=None):
    handler = urllib.request.ProxyHandler({"http": proxy} if proxy else {})
    with urllib.request.build_opener(handler).open(url, timeout=20) as answer:
        return answer.status, answer.read(), answer.headers


def main(most):
    with tempfile.TemporaryDirectory() as folder, origin() as url:
        config = pathlib.Path(folder) / "penstock.yaml"
        config.write_text(CONFIG)
        with server(config, most) as process:
            proxy, admin = addresses(process.stderr)
            status, body, headers = fetch(url, proxy)
            assert (status, body) == (200, BODY), (status, body)
            assert "penstock" in headers["X-Via"], "the request did not come by the proxy: " + headers["X-Via"]
            assert fetch(f"{admin}/status")[0] == 200
            process.send_signal(signal.SIGTERM)
            rest = process.stderr.read()
            assert process.wait() == 0, f"ended with {process.returncode}:\n{rest}"
    print(f"script/server passed a request on at {proxy} and ended when it was told to")


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 900)
