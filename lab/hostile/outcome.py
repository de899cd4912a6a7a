# SPDX-License-Identifier: Apache-2.0
"""What became of one hostile request: sent to a proxy, seen at its client's end and at the witness'.
For the programs of this folder only."""

import dataclasses
import re
import socket
import time

from witness import MARK, quiet_yet

REFUSED = "refused"    # no whole request came to the origin; the client heard an error, or the end of its connection
ANSWERED = "answered"  # by the proxy itself, as the rule asks
CLEAN = "clean"        # what came to the origin is beyond doubt
AS_SENT = "as sent"    # the hostile thing itself came to the origin
HIDDEN = "hidden"      # a request came to the origin that must not be taken for one
HUNG = "hung"          # neither an answer nor an end
QUIET = 0.2             # seconds in which nothing more comes


@dataclasses.dataclass(frozen=True)
class Outcome:
    kind: str
    status: int = 0  # the proxy's own; 0: it said nothing
    is_begun: bool = False  # a part of it had come to the origin before it was refused
    is_open: bool = False  # a connection that had to end did not


@dataclasses.dataclass
class Heard:
    replies: list  # (status, whether it is the proxy's own)
    ended: bool


def replies_in(text):
    found = []
    while head := re.match(rb"HTTP/1\.[01] (\d{3})[^\r\n]*\r\n(.*?)\r\n\r\n", text + b"\r\n", re.DOTALL):
        status, fields = int(head[1]), head[2]
        length = re.search(rb"(?i)(?:^|\n)content-length: *(\d+)", fields)
        if status >= 200:
            found.append((status, MARK not in fields))
        if status >= 200 and not length:
            return found
        text = text[head.end() + (int(length[1]) if length else 0):]
    return found


def exchange(port, text, awaits_end, patience):
    """Sends it, and hears what comes: up to the end, or until an answer is there and nothing follows it."""
    heard, ended, until = b"", False, time.monotonic() + patience
    with socket.create_connection(("127.0.0.1", port)) as client:
        try:
            client.sendall(text)
        except OSError:
            pass  # refused before all of it was sent
        while not ended and (left := until - time.monotonic()) > 0:
            since, may_be_all = time.monotonic(), not awaits_end and replies_in(heard)
            client.settimeout(min(left, QUIET) if may_be_all else left)
            try:
                more = client.recv(65536)
            except TimeoutError:
                if may_be_all and not quiet_yet(since, QUIET):
                    continue
                break
            except OSError:
                more = b""
            heard, ended = heard + more, not more
    return Heard(replies_in(heard), ended)


def judged(case, heard, seen):
    own = next((status for status, is_own in heard.replies if is_own), 0)
    if any(request.target.endswith("/hidden") for request in seen.requests):
        return Outcome(HIDDEN, own)
    if seen.complaints or (case.trait and re.search(case.trait.encode(), seen.raw, re.IGNORECASE)):
        return Outcome(AS_SENT, own)
    if seen.requests:
        return Outcome(CLEAN, own)
    if own and own < 400:
        return Outcome(ANSWERED, own)
    if own or heard.ended:
        return Outcome(REFUSED, own, seen.begun, case.closes and not heard.ended)
    return Outcome(HUNG)


def is_allowed(case, outcome):
    """By the rule; with which words a proxy refuses is another matter."""
    return outcome.kind in case.allowed and not outcome.is_open


def play(case, port, witness, patience):
    """Sends it through the proxy at that port; what became of it."""
    witness.testimony()
    heard = exchange(port, case.bytes_for(f"127.0.0.1:{witness.port}"), case.closes, patience)
    witness.await_quiet(QUIET / 3)
    return judged(case, heard, witness.testimony())
