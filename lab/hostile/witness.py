# SPDX-License-Identifier: Apache-2.0
"""The origin behind the proxies: keeps every byte that it is sent, and answers whatever is beyond doubt.
For the programs of this folder only."""

import dataclasses
import pathlib
import socket
import sys
import threading
import time

from strict import NotYet, Wrong, request_at

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "tests/support"))
import machine  # noqa: E402

MARK = b"X-From: the-witness"
ANSWER = b"HTTP/1.1 200 OK\r\n" + MARK + b"\r\nContent-Length: 2\r\n\r\n"
NO = b"HTTP/1.1 400 Not For Me\r\n" + MARK + b"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


def quiet_yet(since, seconds):
    """Whether the machine gave anybody that long to say something more, from then on. Where nobody watches it, it did."""
    return time.monotonic() - since - machine.late(since) >= seconds


@dataclasses.dataclass
class Testimony:
    """What came since it was last asked."""
    raw: bytes
    requests: list   # strict.Request, those that were whole and beyond doubt
    complaints: list
    begun: bool      # something came that is neither whole nor wrong


class Link:
    """One connection of a proxy's."""

    def __init__(self, connection):
        self.connection = connection
        self.raw, self.at, self.since = b"", 0, 0
        self.requests, self.complaints, self.is_over = [], [], False

    def take(self, more):
        """The answers to what has come; nothing more is understood behind what is wrong."""
        self.raw += more
        answers = b""
        try:
            while self.at < len(self.raw) and not self.is_over:
                request, self.at = request_at(self.raw, self.at)
                self.requests.append(request)
                answers += ANSWER + (b"" if request.method == "HEAD" else b"ok")
        except NotYet:
            pass
        except Wrong as why:
            self.complaints.append(str(why))
            self.is_over = True
            answers += NO
        return answers


class Witness:
    tls = None  # it speaks none

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port = self.listener.getsockname()[1]
        self.changed = threading.Condition()
        self.links, self.threads = [], []
        self.acceptor = threading.Thread(target=self._accept, daemon=True)
        self.acceptor.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.acceptor.join()
        for link in self.links:
            self._hang_up(link)
        for thread in self.threads:
            thread.join()
        self.listener.close()

    @staticmethod
    def _hang_up(link):
        try:
            link.connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # it has gone by itself

    def _accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            link = Link(connection)
            thread = threading.Thread(target=self._serve, args=(link,), daemon=True)
            with self.changed:
                self.links.append(link)
                self.threads.append(thread)
            thread.start()

    def _serve(self, link):
        with link.connection:
            try:
                while more := link.connection.recv(65536):
                    with self.changed:
                        answers = link.take(more)
                        self.changed.notify_all()
                    link.connection.sendall(answers)
                    if link.is_over:
                        link.connection.shutdown(socket.SHUT_WR)
            except OSError:
                pass  # the proxy broke off

    def await_quiet(self, seconds):
        """Until nothing has come for that long."""
        with self.changed:
            since = time.monotonic()
            while True:
                if self.changed.wait(seconds):
                    since = time.monotonic()
                elif quiet_yet(since, seconds) or time.monotonic() - since > 20 * seconds:
                    return

    def testimony(self):
        """What came since the last call."""
        found = Testimony(b"", [], [], False)
        with self.changed:
            for link in self.links:
                found.raw += link.raw[link.since:]
                found.requests += link.requests
                found.complaints += link.complaints
                found.begun |= max(link.since, link.at) < len(link.raw) and not link.is_over
                link.since, link.requests, link.complaints = len(link.raw), [], []
        return found
