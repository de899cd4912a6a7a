# SPDX-License-Identifier: Apache-2.0
# The stage for real clients: an origin that serves files, echoes uploads and speaks git, and a running proxy. Not a
# general web server; for clients_test.py only.
"""Started and stopped by the tests; everything on loopback, on free ports."""
import http.server
import json
import os
import re
import ssl
import subprocess
import tempfile
import threading
import time
import urllib.parse

PATIENCE = 60  # seconds; whoever meets it has failed


class Origin(http.server.ThreadingHTTPServer):
    """Serves a folder under /files/, git repositories under /git/, echoes what is sent to /echo."""

    daemon_threads = True

    def __init__(self, folder, tls=None):
        """`tls`: an ssl.SSLContext to speak it with."""
        super().__init__(("127.0.0.1", 0), Answers)
        self.folder = folder
        self.seen = []  # (method, path, headers)
        self.tls = tls
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def url(self, path="/"):
        if self.tls:
            return f"https://localhost:{self.server_address[1]}{path}"
        return f"http://127.0.0.1:{self.server_address[1]}{path}"

    def finish_request(self, request, client_address):
        """In the connection's own thread: a handshake must not keep the others waiting."""
        if not self.tls:
            return super().finish_request(request, client_address)
        with self.tls.wrap_socket(request, server_side=True) as wrapped:
            super().finish_request(wrapped, client_address)

    def handle_error(self, request, client_address):
        pass  # a client that goes away is not this origin's concern


class Answers(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def body(self):
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        parts = []
        while size := int(self.rfile.readline(), 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        while self.rfile.readline() != b"\r\n":
            pass
        return b"".join(parts)

    def answer(self, status, body=b"", fields=()):
        self.send_response(status)
        for name, value in fields:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def serve(self):
        self.server.seen.append((self.command, self.path, dict(self.headers)))
        path = urllib.parse.urlsplit(self.path).path
        if path == "/echo":
            self.answer(200, self.body(), [("Content-Type", "application/octet-stream")])
        elif path == "/redirect":
            self.answer(302, fields=[("Location", "/files/hello.txt")])
        elif path.startswith("/files/"):
            self.file(path.removeprefix("/files/"))
        elif path.startswith("/git/"):
            self.git(path.removeprefix("/git"))
        else:
            self.answer(404, b"nothing here\n")

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = do_OPTIONS = serve

    def file(self, name):
        self.body()
        try:
            with open(os.path.join(self.server.folder, name), "rb") as file:
                self.answer(200, file.read())
        except OSError:
            self.answer(404, b"no such file\n")

    def git(self, path):
        """git's own CGI program, which clients fetch from and push to."""
        body = self.body()
        environment = {
            "PATH": os.environ["PATH"],
            "GIT_PROJECT_ROOT": os.path.join(self.server.folder, "git"),
            "GIT_HTTP_EXPORT_ALL": "1",
            "REMOTE_USER": "tester",
            "REMOTE_ADDR": "127.0.0.1",
            "REQUEST_METHOD": self.command,
            "PATH_INFO": path,
            "QUERY_STRING": urllib.parse.urlsplit(self.path).query,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(len(body)),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
        }
        done = subprocess.run(["git", "http-backend"], input=body, env=environment, capture_output=True, check=True)
        head, _, body = done.stdout.partition(b"\r\n\r\n")
        fields = [tuple(line.split(": ", 1)) for line in head.decode().split("\r\n")]
        status = next((int(value.split()[0]) for name, value in fields if name == "Status"), 200)
        self.answer(status, body, [field for field in fields if field[0] not in ("Status", "Content-Length")])


def identity(folder):
    """A certificate for localhost by a CA of its own: a server's SSLContext, and the file that a client must trust."""
    def openssl(*words):
        subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)
    openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "ca.key", "-out", "ca.pem", "-days", "2",
            "-subj", "/CN=Penstock's tests")
    openssl("req", "-newkey", "rsa:2048", "-nodes", "-keyout", "key.pem", "-out", "request.pem", "-subj", "/CN=localhost")
    with open(os.path.join(folder, "names"), "w", encoding="ascii") as file:
        file.write("subjectAltName=DNS:localhost\n")
    openssl("x509", "-req", "-in", "request.pem", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2",
            "-extfile", "names", "-out", "cert.pem")
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(os.path.join(folder, "cert.pem"), os.path.join(folder, "key.pem"))
    tls.set_alpn_protocols(["http/1.1"])
    return tls, os.path.join(folder, "ca.pem")


class Proxy:
    """The program under test."""

    def __init__(self, binary, folder, more=""):
        """`more`: further lines of its configuration."""
        self.events_file = os.path.join(folder, "events")
        config = os.path.join(folder, "penstock.yaml")
        with open(config, "w", encoding="utf-8") as file:
            file.write("version: 1\nproxy: { listen: 127.0.0.1:0, grace: 1s }\nadmin: { listen: 127.0.0.1:0 }\n"
                       f"log: {{ events: {self.events_file} }}\n{more}")
        self.process = subprocess.Popen([binary, "run", "--config", config], stderr=subprocess.PIPE, text=True, env={})
        self.said = []
        self.url = None
        for line in self.process.stderr:
            self.said.append(line)
            if found := re.search(r"listening on (http://127\.0\.0\.1:\d+)", line):
                self.url = found.group(1)
                break
        assert self.url, "the program does not listen:\n" + "".join(self.said)
        self.reader = threading.Thread(target=lambda: self.said.extend(self.process.stderr))
        self.reader.start()

    def stop(self):
        """Ends it; its exit code and what it said."""
        self.process.terminate()
        try:
            code = self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = self.process.wait()
        self.reader.join()
        self.process.stderr.close()
        return code, "".join(self.said)

    def events(self):
        with open(self.events_file, encoding="utf-8") as file:
            return [json.loads(line) for line in file if line.endswith("\n")]

    def wait_for(self, count, kind):
        """The events of a kind, once there are that many."""
        until = time.monotonic() + PATIENCE
        while True:
            found = [event for event in self.events() if event["event"] == kind]
            if len(found) >= count or time.monotonic() > until:
                return found
            time.sleep(0.01)


class Folder(tempfile.TemporaryDirectory):
    """A folder with something to serve in it."""

    def __init__(self):
        super().__init__(prefix="penstock-clients-")
        self.write("hello.txt", b"hello\n")
        self.write("big.bin", bytes(range(256)) * 16384)

    def write(self, name, content):
        with open(self.path(name), "wb") as file:
            file.write(content)

    def path(self, name=""):
        return os.path.join(self.name, name)

    def read(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()
