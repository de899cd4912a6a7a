# SPDX-License-Identifier: Apache-2.0
"""The origins of a chaos run. Each request says in its path how it is to be served: /c/NAME/SCRIPT/SIZE/SENT, with the
size of the answer's body and of the request's. They read strictly, and note what they see in the ledger: when, how
often, and how many at once. For the programs of this folder only."""

import asyncio
import contextlib
import re
import socket
import time

import ledger
import refusals
from wire import GONE, Body, Malformed, chunked, is_left, read_head, reset

TARGET = re.compile(r"(?:/base)?(?:/\w+)?/c/(\d+-\d+)/(\w+)/(\d+)/(\d+)")
RESTS = 0.5  # seconds
POISON = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\nX-Chaos: poison\r\n\r\npoison"


class Left(Exception):
    """The script has ended the connection."""


class Visit:
    """One request with an origin."""

    def __init__(self, origin, writer, head, body, target):
        self.origin, self.writer, self.body, self.head = origin, writer, body, head
        self.name, self.script, self.size, self.sent = target[1], target[2], int(target[3]), int(target[4])
        self.method = head.first.split(" ")[0]
        self.place = head.get("host")
        self.is_here = True

    @property
    def content(self):
        return b"" if self.method == "HEAD" else ledger.pattern(self.name, self.size)

    def leave(self):
        """Before anything that the proxy may take for the end: who has it lets the next one go."""
        self.is_here = False

    async def say(self, *parts):
        self.writer.write(b"".join(parts))
        await self.writer.drain()

    def line(self, status, *fields):
        lines = [f"HTTP/1.1 {status}", f"X-Chaos: {self.name}", *fields]
        return "\r\n".join([*lines, "", ""]).encode()

    async def read(self):
        await self.body.read()
        self.check()
        if len(self.body.got) != self.sent:
            self.origin.book.breach(f"{self.name}: {len(self.body.got)} bytes of a body of {self.sent}", self.name)

    def check(self):
        if self.body.got != ledger.pattern(self.name, len(self.body.got)):
            self.origin.book.breach(f"{self.name}: its body has bytes of another", self.name)

    async def answer(self, status="200 OK", *fields):
        """The plain kind, all at once."""
        await self.read()
        self.leave()
        await self.say(self.line(status, f"Content-Length: {self.size}", *fields), self.content)

    def end(self):
        self.leave()
        self.writer.close()
        raise Left

    def reset(self):
        self.leave()
        reset(self.writer)
        raise Left


async def ok(visit):
    await visit.answer()


async def slow(visit):
    await visit.read()
    await asyncio.sleep(0.01 + visit.size % 97 / 1000)
    await visit.answer()


async def chunks(visit):
    await visit.read()
    head = visit.line("200 OK", "Transfer-Encoding: chunked")
    if visit.method == "HEAD":
        visit.leave()
        return await visit.say(head)
    await visit.say(head, chunked(visit.content, 1000))
    visit.leave()
    await visit.say(b"0\r\nX-Sum: 1\r\n\r\n")


async def until_end(visit):
    await visit.read()
    await visit.say(visit.line("200 OK"), visit.content)
    visit.end()


async def nothing(visit):
    await visit.read()
    visit.leave()
    await visit.say(visit.line("204 No Content"))


async def hints(visit):
    await visit.say(visit.line("103 Early Hints", "Link: </a>"), visit.line("103 Early Hints"))
    await visit.answer()


async def missing(visit):
    await visit.answer("404 Not Found")


async def broken(visit):
    await visit.answer("503 Service Unavailable")


async def closing(visit):
    await visit.answer("200 OK", "Connection: close")
    visit.end()


async def drip(visit):
    await visit.read()
    await visit.say(visit.line("200 OK", f"Content-Length: {visit.size}"))
    for at in range(0, len(visit.content), max(1, visit.size // 4)):
        await asyncio.sleep(0.02)
        piece = visit.content[at:at + max(1, visit.size // 4)]
        if at + len(piece) == visit.size:
            visit.leave()
        await visit.say(piece)
    visit.leave()


async def early(visit):
    """The answer before the request's body, which is never read."""
    visit.leave()
    await visit.say(visit.line("413 Content Too Large", f"Content-Length: {visit.size}"), visit.content)
    await asyncio.sleep(0.01)
    visit.end()


async def early_kept(visit):
    visit.leave()
    await visit.say(visit.line("200 OK", f"Content-Length: {visit.size}"), visit.content)
    await visit.read()


async def deaf(visit):
    await visit.read()
    await visit.writer.drain()
    await visit.origin.until_left(visit.writer)
    visit.end()


async def stalled(visit):
    await visit.read()
    await visit.say(visit.line("200 OK", f"Content-Length: {visit.size + 10}"), visit.content)
    await visit.origin.until_left(visit.writer)
    visit.end()


async def unread(visit):
    """Neither reads the body nor answers."""
    await visit.origin.until_left(visit.writer)
    visit.reset()


async def close_at_once(visit):
    visit.end()


async def reset_at_once(visit):
    visit.reset()


async def close_after_body(visit):
    await visit.read()
    visit.end()


async def reset_in_status(visit):
    await visit.say(b"HTTP/1.1 2")
    visit.reset()


async def close_in_head(visit):
    visit.leave()
    await visit.say(visit.line("200 OK", f"Content-Length: {visit.size}")[:-9])
    visit.end()


async def close_in_body(visit):
    await visit.read()
    await visit.say(visit.line("200 OK", f"Content-Length: {visit.size + 5}"), visit.content)
    visit.end()


async def reset_in_body(visit):
    await visit.read()
    await visit.say(visit.line("200 OK", f"Content-Length: {visit.size + 5}"), visit.content)
    visit.reset()


async def close_in_chunk(visit):
    await visit.read()
    await visit.say(visit.line("200 OK", "Transfer-Encoding: chunked"), chunked(visit.content, 100), b"ff\r\n")
    visit.end()


async def bad_chunk(visit):
    await visit.read()
    visit.leave()
    await visit.say(visit.line("200 OK", "Transfer-Encoding: chunked"), chunked(visit.content, 100), b"xyz\r\n")
    visit.end()


async def garbage(visit):
    visit.leave()
    await visit.say(b"SSH-2.0-OpenSSH_9.2\r\n\x00\x01\x02\r\n\r\n")
    visit.end()


async def two_lengths(visit):
    await visit.read()
    visit.leave()
    await visit.say(visit.line("200 OK", f"Content-Length: {visit.size}", "Content-Length: 1"), visit.content)
    visit.end()


async def unknown_coding(visit):
    await visit.read()
    visit.leave()
    await visit.say(visit.line("200 OK", "Transfer-Encoding: gzip, chunked"), b"0\r\n\r\n")
    visit.end()


async def too_long(visit):
    """More than it said, and an answer to what nobody asked."""
    await visit.read()
    visit.leave()
    await visit.say(visit.line("200 OK", f"Content-Length: {visit.size}"), visit.content, b"more", POISON)


async def unasked(visit):
    """Two answers at once. If the other came later, the next request could be on its way already, and nobody could tell
    that it is not the answer to that."""
    await visit.read()
    visit.leave()
    await visit.say(visit.line("200 OK", f"Content-Length: {visit.size}"), visit.content, POISON)


async def body_of_nothing(visit):
    """After 204 there is none."""
    await visit.read()
    visit.leave()
    await visit.say(visit.line("204 No Content"), POISON)


async def switching(visit):
    visit.leave()
    await visit.say(visit.line("101 Switching Protocols", "Connection: Upgrade", "Upgrade: poison"), POISON)
    visit.end()


async def flood(visit):
    visit.leave()
    await visit.say(visit.line("103 Early Hints") * 150)
    await visit.answer()


async def huge_head(visit):
    visit.leave()
    await visit.say(visit.line("200 OK", *[f"X-{n}: {'x' * 1000}" for n in range(300)]))
    visit.end()


GOOD = {each.__name__: each for each in (
    ok, slow, chunks, until_end, nothing, hints, missing, broken, closing, drip, *refusals.SOUND)}
BAD = {each.__name__: each for each in (
    early, early_kept, deaf, stalled, unread, close_at_once, reset_at_once, close_after_body, reset_in_status,
    close_in_head, close_in_body, reset_in_body, close_in_chunk, bad_chunk, garbage, two_lengths, unknown_coding,
    too_long, unasked, body_of_nothing, switching, flood, huge_head,
    *refusals.HALF_DEAD)}
SCRIPTS = GOOD | BAD
REFUSING = [each.__name__ for each in refusals.SOUND]


class Listening:
    """A port that stays ours also while nobody listens on it, and what serves it."""

    def __init__(self, tls=None):
        self._holder = bound(0)
        self.port = self._holder.getsockname()[1]
        self.tls, self.server, self.writers = tls, None, {}
        self.book = None  # the ledger of the round

    async def start(self):
        listener = bound(self.port)
        self.server = await asyncio.start_server(self._serve, sock=listener, ssl=self.tls, backlog=1024, limit=1 << 20)

    async def stop(self):
        """As a process that is killed: nothing of it is left."""
        self.server.close()
        self.hang_up()

    def hang_up(self):
        for writer in list(self.writers):
            writer.transport.abort()

    async def restart(self, away):
        await self.stop()
        await asyncio.sleep(away)
        await self.start()

    async def end(self):
        await self.stop()
        self._holder.close()

    async def until_left(self, writer):
        """A stall ends with the proxy's leaving; bytes that come meanwhile stay where they are."""
        while not is_left(writer):
            await asyncio.sleep(0.02)

    async def _serve(self, reader, writer):
        self.writers[writer] = None
        try:
            await self.serve(reader, writer)
        except (*GONE, Left, asyncio.CancelledError):
            pass
        finally:
            del self.writers[writer]
            with contextlib.suppress(*GONE):
                writer.close()

    def together(self, place):
        """How many are here now, without those whose proxy has left them."""
        here = [writer for writer, visit in self.writers.items()
                if visit is not None and visit.is_here and visit.place == place]
        return sum(not is_left(writer) for writer in here)


def bound(port):
    """Several may be bound to a port, as long as one of them listens."""
    end = socket.socket()
    end.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    end.bind(("127.0.0.1", port))
    return end


class Origin(Listening):
    """Speaks HTTP."""

    def __init__(self, tls=None):
        super().__init__(tls)
        self.connections = 0

    async def stop(self):
        """What had no length is cut by that, and looks whole to everybody."""
        for writer, visit in self.writers.items():
            if visit and visit.script == "until_end" and writer.transport.get_write_buffer_size() > 0:
                self.book.truncated(visit.name)
        await super().stop()

    async def serve(self, reader, writer):
        self.connections += 1
        connection, nth = self.connections, 0
        while True:
            try:
                head = await read_head(reader)
                nth += 1
                await self._visit(reader, writer, head, connection, nth)
            except (Malformed, asyncio.LimitOverrunError) as error:
                self.book.breach(f"an origin got what is malformed: {error}")
                return
            self.writers[writer] = None

    async def _visit(self, reader, writer, head, connection, nth):
        words = head.first.split(" ")
        target = TARGET.fullmatch(words[1]) if len(words) == 3 else None
        if not target or words[2] != "HTTP/1.1" or target[2] not in SCRIPTS:
            raise Malformed(f"the line {head.first!r}")
        visit = Visit(self, writer, head, Body(reader, head), target)
        self.writers[writer] = visit
        self.book.saw(visit.name, ledger.Sighting(time.time(), self.together(visit.place), connection, nth, visit.place))
        if head.get("expect", "").lower() == "100-continue" and not visit.script.startswith(("early", "unread", "pause_early")):
            await visit.say(b"HTTP/1.1 100 Continue\r\n\r\n")
        try:
            await SCRIPTS[visit.script](visit)
        finally:
            visit.check()
            visit.leave()


class Tunnelled:
    """One tunnel with its far end. Half a second after the last word of that it may rest, which leaves its slot to
    others (`tunnelRest`)."""

    def __init__(self):
        self.is_open, self.place = True, "tunnel"
        self.spoke = time.monotonic()

    def speaks(self):
        self.spoke = time.monotonic()

    @property
    def is_here(self):
        return self.is_open and time.monotonic() < self.spoke + RESTS


class FarEnd(Listening):
    """Of tunnels: a line says whose it is and how it ends, all that follows comes back in capitals."""

    async def serve(self, reader, writer):
        self.writers[writer] = visit = Tunnelled()
        seen = ledger.Sighting(time.time(), self.together(visit.place), 0, 1, visit.place)
        name, _, end = (await reader.readuntil(b"\n")).decode().strip().partition(" ")
        self.book.saw(name, seen)
        visit.speaks()
        writer.write(f"hello {name}\n".encode())
        while piece := await reader.read(65536):
            visit.speaks()
            writer.write(piece.upper())
            await writer.drain()
            if end in ("close", "reset", "stall"):
                await self._break_off(visit, writer, end)
        visit.is_open = False

    async def _break_off(self, visit, writer, end):
        if end == "stall":
            await self.until_left(writer)
        visit.is_open = False
        if end == "reset":
            reset(writer)
        raise Left
