# SPDX-License-Identifier: Apache-2.0
# The origin for real clients: serves files, echoes uploads, speaks git, streams chats, and keeps book of how many
# requests were with it at once, and when each came. Not a general web server.
"""Started by the tests; on loopback and a free port, unless they say otherwise."""
import contextlib
import http.server
import json
import os
import socket
import ssl
import subprocess
import threading
import time
import urllib.parse

from stage import PATIENCE

PIECES = ["Water", "flows", "through"]  # of each chat
HOLD = 0.1  # seconds that a request of /held/ stays, so that others could be there, too


class Book:
    """When requests came, and how many of them were here at once. Of an origin that serves one request a connection:
    when connections did, for what comes through a tunnel may come long after it was opened."""

    def __init__(self):
        self.lock = threading.Lock()
        self.came = []
        self.here = self.most = 0

    def enter(self):
        with self.lock:
            self.came.append(time.monotonic())
            self.here += 1
            self.most = max(self.most, self.here)

    def leave(self):
        with self.lock:
            self.here -= 1


class Origin(http.server.ThreadingHTTPServer):
    """Serves a folder under /files/, git repositories under /git/, echoes what is sent to /echo, says hello under
    /held/ after a while, and chats under /v1/chat/completions."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, folder, tls=None, keep=True, address="127.0.0.1", port=0, distance=0):
        """`tls`: an ssl.SSLContext to speak it with. `keep`: connections serve more than one request. `distance`: so many
        seconds later is each handshake, as if round trips took their time."""
        super().__init__((address, port), Answers)
        self.folder = folder
        self.seen = []  # (method, path, headers)
        self.tls = tls
        self.keep = keep
        self.distance = distance
        self.book = Book()
        self.say_next = None  # a semaphore: how many pieces of chats may be said
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()

    @property
    def port(self):
        return self.server_address[1]

    def url(self, path="/"):
        return f"https://localhost:{self.port}{path}" if self.tls else f"http://127.0.0.1:{self.port}{path}"

    def stop(self):
        self.shutdown()
        self.server_close()

    def process_request(self, request, client_address):
        if not self.keep:
            self.book.enter()
        super().process_request(request, client_address)

    def finish_request(self, request, client_address):
        """In the connection's own thread: a handshake must not keep the others waiting."""
        if not self.tls:
            return super().finish_request(request, client_address)
        request.settimeout(PATIENCE)
        time.sleep(self.distance)
        with self.tls.wrap_socket(request, server_side=True) as wrapped:
            super().finish_request(wrapped, client_address)
            self.part(wrapped)

    @staticmethod
    def part(wrapped):
        """As servers do: the last words of TLS and the end in one, and then whatever the client still has to say."""
        wrapped.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
        wrapped.setblocking(False)
        with contextlib.suppress(ssl.SSLError):  # it has not heard the client's
            wrapped.unwrap()
        wrapped.settimeout(PATIENCE)
        wrapped.shutdown(socket.SHUT_WR)
        while wrapped.recv(4096):
            pass

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
        self.finish_answer()
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def finish_answer(self):
        """Said before the answer's last byte: who has it may let the next request go."""
        if not self.server.keep:
            self.send_header("Connection", "close")
            self.close_connection = True
        self.server.book.leave()

    def serve(self):
        if self.server.keep:
            self.server.book.enter()
        self.server.seen.append((self.command, self.path, self.headers))
        path = urllib.parse.urlsplit(self.path).path
        if path == "/":
            self.answer(200, b"hello\n")
        elif path == "/echo":
            self.answer(200, self.body(), [("Content-Type", "application/octet-stream")])
        elif path == "/redirect":
            self.answer(302, fields=[("Location", "/files/hello.txt")])
        elif path == "/login":
            fields = [("Location", f"https://{self.headers['Host']}/home"), ("Set-Cookie", "user=1; Path=/; Secure"),
                      ("Strict-Transport-Security", "max-age=600")]
            self.answer(302, fields=fields)
        elif path == "/home":
            self.answer(200, b"welcome back\n" if self.headers.get("Cookie") == "user=1" else b"who are you?\n")
        elif path.startswith("/held/"):
            self.body()
            time.sleep(HOLD)
            self.answer(200, f"hello {path.removeprefix('/held/')}\n".encode(), [("Content-Type", "text/plain")])
        elif path == "/v1/chat/completions":
            self.chat(json.loads(self.body()))
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

    def chat(self, asked):
        """As api.openai.com streams its answers: an event for each piece, then [DONE]."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        if not self.server.keep:
            self.send_header("Connection", "close")
            self.close_connection = True
        self.end_headers()
        for piece in PIECES:
            if self.server.say_next:
                assert self.server.say_next.acquire(timeout=PATIENCE)
            else:
                time.sleep(HOLD / len(PIECES))
            self.say({"object": "chat.completion.chunk", "model": asked["model"],
                      "choices": [{"index": 0, "delta": {"role": "assistant", "content": piece}}]})
        self.server.book.leave()
        self.chunk(b"data: [DONE]\n\n")
        self.chunk(b"")

    def say(self, event):
        self.chunk(b"data: " + json.dumps(event).encode() + b"\n\n")

    def chunk(self, content):
        self.wfile.write(b"%x\r\n%b\r\n" % (len(content), content))
        self.wfile.flush()

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
