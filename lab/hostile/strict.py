# SPDX-License-Identifier: Apache-2.0
"""A reader of HTTP/1.1 requests that forgives nothing: what it takes can be understood in one way only. No proxy's
parser, Penstock's least of all. For the programs of this folder only."""

import dataclasses
import re

TOKEN = rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
LINE = re.compile(rb"(" + TOKEN + rb") ([\x21-\x7e]+) HTTP/1\.([01])")
FIELD = re.compile(rb"(" + TOKEN + rb"):[ \t]*([^\x00-\x08\x0a-\x1f\x7f]*)")
CHUNK = re.compile(rb"([0-9A-Fa-f]{1,15})(;[\x20-\x7e]*)?")


class Wrong(Exception):
    """Another reader could understand it in another way; the text says why."""


class NotYet(Exception):
    """Its end is not there."""


@dataclasses.dataclass
class Request:
    method: str
    target: str
    fields: list  # (name in lower case, value)
    body: bytes = b""
    trailers: list = dataclasses.field(default_factory=list)

    def all(self, name):
        return [value for its, value in self.fields if its == name]


def line_at(text, at):
    end = text.find(b"\n", at)
    if end < 0:
        raise NotYet
    if text[at:end + 1][-2:] != b"\r\n":
        raise Wrong("a bare line feed")
    return text[at:end - 1], end + 1


def fields_at(text, at):
    fields = []
    while True:
        line, at = line_at(text, at)
        if not line:
            return fields, at
        found = FIELD.fullmatch(line)
        if not found:
            raise Wrong(f"no field: {line[:60]!r}")
        fields.append((found[1].decode().lower(), found[2].decode("latin-1").rstrip(" \t")))


def chunks_at(text, at):
    body = b""
    while True:
        line, at = line_at(text, at)
        found = CHUNK.fullmatch(line)
        if not found:
            raise Wrong(f"no chunk size: {line[:60]!r}")
        size = int(found[1], 16)
        if size == 0:
            trailers, at = fields_at(text, at)
            return body, trailers, at
        if len(text) < at + size + 2:
            raise NotYet
        if text[at + size:at + size + 2] != b"\r\n":
            raise Wrong("bytes behind a chunk")
        body, at = body + text[at:at + size], at + size + 2


def check_head(request, minor):
    hosts, authority = request.all("host"), re.fullmatch(r"http://([^/?]*)(.*)", request.target)
    if len(hosts) != 1 and (minor == b"1" or hosts):
        raise Wrong("not one Host")
    if authority and ("@" in authority[1] or hosts and authority[1] != hosts[0]):
        raise Wrong("a target that differs from its Host")
    if "#" in request.target:
        raise Wrong("a fragment")


def framing(request, minor):
    """`chunked`, or the length."""
    lengths, codings = request.all("content-length"), request.all("transfer-encoding")
    if codings:
        if lengths or minor == b"0" or [coding.lower() for coding in codings] != ["chunked"]:
            raise Wrong("a body of two lengths, or in an unknown coding")
        return "chunked"
    if len(lengths) > 1 or any(not re.fullmatch("[0-9]{1,18}", length) for length in lengths):
        raise Wrong("no plain Content-Length")
    return int(lengths[0]) if lengths else 0


def request_at(text, at):
    """The request that begins there, and where the next one does. Raises Wrong or NotYet."""
    line, after = line_at(text, at)
    found = LINE.fullmatch(line)
    if not found:
        raise Wrong(f"no request line: {line[:60]!r}")
    fields, after = fields_at(text, after)
    request = Request(found[1].decode(), found[2].decode(), fields)
    check_head(request, found[3])
    length = framing(request, found[3])
    if length == "chunked":
        request.body, request.trailers, after = chunks_at(text, after)
    elif len(text) < after + length:
        raise NotYet
    else:
        request.body, after = text[after:after + length], after + length
    return request, after
