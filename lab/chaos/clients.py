# SPDX-License-Identifier: Apache-2.0
"""The clients of a chaos run: each carries out one visit of the plan, and notes in the ledger what it sent and got.
For the programs of this folder only."""

import asyncio
import contextlib
import random

import ledger
from settings import UPSTREAMS
from wire import GONE, Body, Malformed, chunked, read_head, reset

PATIENCE = 60  # seconds for a visit; whoever meets it has failed


def is_early(ask):
    """It may be answered before it is there."""
    return ask.script.startswith(("early", "pause_early")) and ask.body > 0


class Client:
    """One visit."""

    def __init__(self, visit, port, ports, book):
        self.visit, self.port, self.ports, self.book = visit, port, ports, book
        self.reader = self.writer = None
        self.early = False    # the last request may be answered before it is there
        self.is_over = False  # the connection brings no more answers

    async def go(self):
        try:
            async with asyncio.timeout(PATIENCE):
                self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port, limit=1 << 20)
                await getattr(self, f"_{self.visit.way}")()
        except TimeoutError:
            self.book.breach(f"a visit that does not end: {self.visit}", self.visit.asks[0].name)
        except OSError as error:
            self.book.breach(f"no connection, or none that ends well: {error}", self.visit.asks[0].name)
        finally:
            if self.writer:
                self.writer.close()

    def _expect(self, ask):
        return self.book.expect(ledger.Request(
            ask.name, ask.method, ask.upstream, ask.group or (ask.host if ask.upstream == "*" else ""), ask.body > 0,
            script=ask.script, may_be_repeated=ask.method in UPSTREAMS[ask.upstream].repeats))

    def _head(self, ask):
        port = self.ports[ask.upstream]
        host = f"{ask.host}:{port}"
        target = f"/@gate{ask.path()}" if ask.upstream == "gate" else f"{ask.scheme}://{host}{ask.path()}"
        lines = [f"{ask.method} {target} HTTP/{ask.version}", f"Host: {host}", "Accept: */*"]
        if ask.body and ask.version == "1.1" and ask.framing == "chunked":
            lines.append("Transfer-Encoding: chunked")
        elif ask.body or ask.method in ("POST", "PUT"):
            lines.append(f"Content-Length: {ask.body}")
        if ask.expects:
            lines.append("Expect: 100-continue")
        return "\r\n".join([*lines, "", ""]).encode()

    @staticmethod
    def _body(ask):
        content = ledger.pattern(ask.name, ask.body)
        if ask.body and ask.version == "1.1" and ask.framing == "chunked":
            return chunked(content, 7000) + b"0\r\n\r\n"
        return content

    # What is sent.

    async def _send(self, ask, request):
        head, body = self._head(ask), self._body(ask)
        leaving = self.visit.leaving
        request.sent = "part"
        if leaving and leaving.stage == "head":
            await self._say(head[:len(head) * (1 + int(leaving.after * 100)) // 50])
            return
        if self.visit.is_slow:
            for at in range(0, len(head), 40):
                await self._say(head[at:at + 40])
                await asyncio.sleep(0.005)
        else:
            await self._say(head)
        request.sent = "head"
        if ask.expects:
            await asyncio.sleep(0.02)
        if leaving and leaving.stage == "upload" and body:
            await self._say(body[:len(body) // 2])
            return
        await self._say(body)
        request.sent = "all"

    async def _say(self, content):
        self.writer.write(content)
        await self.writer.drain()

    async def _leave(self, *requests):
        """In the middle of something. Who half-closes has gone too, but looks on."""
        leaving = self.visit.leaving
        for request in requests:
            request.left = f"{leaving.stage} {leaving.how}"
        await asyncio.sleep(leaving.after)
        self.is_over = True
        if leaving.how == "half":
            with contextlib.suppress(*GONE):
                self.writer.write_eof()
                while await self.reader.read(65536):
                    pass
        elif leaving.how == "reset":
            reset(self.writer)
        else:
            self.writer.close()

    # Ways.

    async def _turns(self):
        *before, last = self.visit.asks
        for ask in before:
            if not self.is_over:
                await self._ask(ask, None)
        if not self.is_over:
            await self._ask(last, self.visit.leaving)

    async def _ask(self, ask, leaving):
        request, kept = self._expect(ask), self.visit.leaving
        request.behind_early, self.early = self.early, is_early(ask)
        self.visit.leaving = leaving
        sending = asyncio.create_task(self._send(ask, request))
        try:
            if leaving and leaving.stage != "answer":
                with contextlib.suppress(*GONE):
                    await sending
                return await self._leave(request)
            if leaving:
                with contextlib.suppress(*GONE):
                    await sending
                    async with asyncio.timeout(0.5):  # the answer may be shorter
                        await self.reader.readexactly(1 + int(leaving.after * 2000))
                return await self._leave(request)
            await self._answer(ask, request)
        finally:
            self.visit.leaving = kept
            await self._done(sending)

    async def _done(self, sending):
        """An answer that came before all was sent ends the connection."""
        if not sending.done():
            self.is_over = True
            sending.cancel()
        with contextlib.suppress(asyncio.CancelledError, *GONE):
            await sending

    async def _pipeline(self):
        requests = [self._expect(ask) for ask in self.visit.asks]
        leaving = self.visit.leaving

        async def send_all():
            for ask, request in zip(self.visit.asks, requests):
                await self._send(ask, request)
                if leaving and request.sent != "all":
                    return

        sending = asyncio.create_task(send_all())
        if leaving:
            await asyncio.wait([sending], timeout=1)
            await self._leave(*requests)
        early = False
        for ask, request in zip(self.visit.asks, requests):
            request.behind_early, early = early, early or is_early(ask)
            if leaving or self.is_over:
                request.behind_end = True
            else:
                await self._answer(ask, request)
        await self._done(sending)

    async def _tunnel(self):
        ask, leaving = self.visit.asks[0], self.visit.leaving
        request = self._expect(ask)
        host = f"{ask.host}:{self.ports['tunnels']}"
        head = f"CONNECT {host} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()
        request.sent = "part" if leaving.stage == "head" else "all"
        with contextlib.suppress(*GONE):
            await self._say(head[:30] if leaving.stage == "head" else head)
        if leaving.stage != "answer":
            return await self._leave(request)
        await self._answer(ask, request)
        if request.status == 200:
            with contextlib.suppress(*GONE):
                await self._talk(ask)
            await self._leave(request)

    async def _talk(self, ask):
        await self._say(f"{ask.name} {ask.script}\n".encode())
        if (hello := await self.reader.readuntil(b"\n")) != f"hello {ask.name}\n".encode():
            self.book.breach(f"the tunnel of {ask.name} leads to another: {hello!r}", ask.name)
        content = ledger.pattern(ask.name, ask.size)
        sending = asyncio.create_task(self._say(content))
        try:
            back = await self.reader.readexactly(len(content))
            if back != content.upper():
                self.book.breach(f"the tunnel of {ask.name} has bytes of another", ask.name)
        finally:
            await self._done(sending)

    async def _bad(self):
        """What can be read in two ways, and behind it a request that must never arrive."""
        first, second = self.visit.asks
        request, never = self._expect(first), self._expect(second)
        request.is_bad = never.is_never = True
        with contextlib.suppress(*GONE):
            await self._say(spoiled(random.Random(self.visit.draw), first, self) + self._head(second))
        await self._answer(first, request)
        if not request.own or not 400 <= request.status < 506:
            self.book.breach(f"malformed, and answered {request.status} {request.cut}", first.name)

    # What is got.

    async def _answer(self, ask, request):
        try:
            head = await self._final_head(request)
            await self._rest(ask, request, head)
        except Malformed as error:
            self.book.breach(f"{request.name}: Penstock answers what is malformed: {error}", request.name)
            self.is_over = True
        except (*GONE, asyncio.LimitOverrunError):
            request.cut = request.cut or "before the answer"
            self.is_over = True

    async def _final_head(self, request):
        while True:
            head = await read_head(self.reader)
            words = head.first.split(" ", 2)
            if words[0] != "HTTP/1.1" or len(words) < 2 or not words[1].isdigit():
                raise Malformed(f"the status line {head.first!r}")
            status = int(words[1])
            whose = head.get("x-chaos")
            if whose not in (None, request.name):
                self.book.breach(f"{request.name} got the answer of {whose}", request.name)
            if status >= 200:
                request.status = status
                return head
            if status == 101:
                raise Malformed("101, which nobody asked for")

    async def _rest(self, ask, request, head):
        said = head.get("proxy-status", "")
        ours = said.startswith("penstock; error=")
        request.own = said.removeprefix("penstock; error=").partition(";")[0] if ours else ""
        if "close" in head.get("connection", "").lower() or (
                ask.version == "1.0" and head.get("connection", "").lower() != "keep-alive"):
            self.is_over = True
        if ask.method == "CONNECT" and request.status == 200:
            return
        if not ours and head.get("x-chaos") is None:
            self.book.breach(f"{request.name}: an answer of nobody's", request.name)
        body = Body(self.reader, head, until_end=True)
        no_body = ask.method == "HEAD" or request.status in (204, 304)
        try:
            if not no_body:
                await body.read()
            request.whole = True
        except GONE:
            request.cut = "in the answer"
            self.is_over = True
        if not ours:
            self._check(ask, request, body.got, 0 if no_body else ask.size)

    def _check(self, ask, request, got, size):
        if got != ledger.pattern(ask.name, len(got)):
            self.book.breach(f"{ask.name}: its answer has bytes of another", ask.name)
        if request.whole and len(got) != size and request.status != 413 and not request.is_truncated:
            self.book.breach(f"{ask.name}: {len(got)} bytes of an answer of {size}", ask.name)


def spoiled(drawn, ask, client):
    """A request of this name that must be refused."""
    first = client._head(ask).split(b"\r\n")[0].replace(b"HTTP/1.0", b"HTTP/1.1")
    host = b"Host: " + f"{ask.host}:{client.ports[ask.upstream]}".encode()
    both = b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    return b"\r\n".join(drawn.choice((
        [first, host, both],
        [first, host, b"Content-Length: 5", b"Content-Length: 6", b"", b"hello"],
        [first, host, b"Content-Length: +5", b"", b"hello"],
        [first, host, b"Content-Length : 5", b"", b"hello"],
        [first, host, b"X: a", b" folded", b"", b""],
        [first, host, b"X: a\nContent-Length: 3", b"", b""],
        [first, host, b"Transfer-Encoding: gzip, chunked", b"", b"0", b"", b""],
        [first, host, b"X: a\0b", b"", b""],
        [first.replace(b" HTTP/1.1", b"  HTTP/1.1"), host, b"", b""],
        [first.replace(b"HTTP/1.1", b"HTTP/3.0"), host, b"", b""],
        [first, b"X: no host", b"", b""],
    )))
