# SPDX-License-Identifier: Apache-2.0
"""HTTP/1 over asyncio's streams, read strictly: whoever meets anything else raises Malformed. For the programs of this
folder only."""

import asyncio
import dataclasses
import re
import select
import socket
import struct

GONE = (ConnectionError, asyncio.IncompleteReadError, TimeoutError, OSError)
LINE = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+:[ \t]*[^\x00-\x08\x0a-\x1f\x7f]*")


class Malformed(Exception):
    pass


@dataclasses.dataclass
class Head:
    first: str
    lines: list   # (name in lower case, value)

    def get(self, name, otherwise=None):
        found = [value for key, value in self.lines if key == name]
        if len(found) > 1 and name in ("content-length", "transfer-encoding", "host"):
            raise Malformed(f"{name} more than once")
        return found[0] if found else otherwise


async def read_head(reader):
    text = (await reader.readuntil(b"\r\n\r\n"))[:-4]
    first, *lines = text.split(b"\r\n")
    for line in lines:
        if not LINE.fullmatch(line):
            raise Malformed(f"the line {line!r}")
    pairs = [line.decode("latin-1").partition(":")[::2] for line in lines]
    return Head(first.decode("latin-1"), [(name.lower(), value.strip(" \t")) for name, value in pairs])


class Body:
    """What has come of a body, framed as its head says. `until_end`: without a framing it goes on until the end."""

    def __init__(self, reader, head, until_end=False):
        self.reader, self.got, self.trailers = reader, bytearray(), []
        coding, length = head.get("transfer-encoding"), head.get("content-length")
        if coding is not None and (coding.lower() != "chunked" or length is not None):
            raise Malformed(f"framing {coding!r} {length!r}")
        if length is not None and not re.fullmatch("[0-9]+", length):
            raise Malformed(f"length {length!r}")
        self.chunked = coding is not None
        self.length = int(length) if length is not None else None
        self.until_end = until_end

    async def read(self):
        if self.chunked:
            await self._chunks()
        elif self.length is not None:
            await self._exactly(self.length)
        elif self.until_end:
            while piece := await self.reader.read(65536):
                self.got += piece

    async def _exactly(self, size):
        while size:
            piece = await self.reader.read(min(size, 65536))
            if not piece:
                raise asyncio.IncompleteReadError(b"", size)
            self.got += piece
            size -= len(piece)

    async def _chunks(self):
        while True:
            line = await self.reader.readuntil(b"\r\n")
            if not re.fullmatch(rb"[0-9a-fA-F]{1,8}\r\n", line):
                raise Malformed(f"the chunk line {line!r}")
            if not int(line, 16):
                break
            await self._exactly(int(line, 16))
            if await self.reader.readexactly(2) != b"\r\n":
                raise Malformed("a chunk without an end")
        while (line := await self.reader.readuntil(b"\r\n")) != b"\r\n":
            self.trailers.append(line)


def chunked(content, size):
    pieces = [content[at:at + size] for at in range(0, len(content), size)]
    return b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces)


def reset(writer):
    """The rudest end: a RST, whatever is under way."""
    end = writer.get_extra_info("socket")
    if end is not None and end.fileno() >= 0:
        end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


def is_left(writer):
    """Whether the other side has ended it, also where nobody has read that far. On loopback this is known at once."""
    end = writer.get_extra_info("socket")
    if end is None or end.fileno() < 0:
        return True
    poll = select.poll()
    poll.register(end.fileno(), select.POLLRDHUP)
    return bool(poll.poll(0))
