# SPDX-License-Identifier: Apache-2.0
"""The hostile requests, and what the standards leave to a proxy in each case. For the programs of this folder only.

What is allowed is stated by hand, from RFC 9110 and 9112, and not from what any proxy does."""

import dataclasses

from outcome import ANSWERED, AS_SENT, CLEAN, REFUSED

EITHER = (REFUSED, CLEAN)


def filled(text, host):
    return text.replace("@URL", f"http://{host}").replace("@HOST", host)


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    text: str             # @URL is the origin's, @HOST its host and port, @SIZE the length of HIDDEN
    allowed: tuple        # the kinds of outcomes that the rule leaves
    rule: str
    statuses: tuple = ()  # of a refusal; those that the rule names
    trait: str = ""       # a pattern of bytes that must not come to the origin; whatever may be understood in two ways
                          # is noticed without
    closes: bool = False  # the connection must end with a refusal

    def bytes_for(self, host):
        size = str(len(filled(HIDDEN, host)))
        return filled(self.text.replace("@SIZE", size), host).encode("latin-1")


def get(line="GET @URL/case HTTP/1.1", fields="Host: @HOST\r\n"):
    return f"{line}\r\n{fields}\r\n"


# It stands where nobody may take it for a request.
HIDDEN = get("GET @URL/hidden HTTP/1.1")


def post(fields, body, version="1.1"):
    return f"POST @URL/case HTTP/{version}\r\nHost: @HOST\r\n{fields}\r\n{body}"


def with_host(more):
    return get(fields="Host: @HOST\r\n" + more)


CHUNKED = "Transfer-Encoding: chunked\r\n"
HELLO = "5\r\nhello\r\n0\r\n\r\n"


def faulty(name, fields, body, rule, statuses=(400,)):
    """A body whose end is not known: nothing behind it can be."""
    return Case(name, post(fields, body) + HIDDEN, (REFUSED,), rule, statuses, closes=True)


LINES = (
    Case("two blanks between method and target", get("GET  @URL/case HTTP/1.1"), EITHER, "9112 3"),
    Case("a tab between method and target", get("GET\t@URL/case HTTP/1.1"), EITHER, "9112 3"),
    Case("lines that end in a bare LF", "GET @URL/case HTTP/1.1\nHost: @HOST\n\n", EITHER, "9112 2.2"),
    Case("a bare CR in the target", get("GET @URL/ca\rse HTTP/1.1"), (REFUSED,), "9112 3", (400,)),
    Case("a NUL in the target", get("GET @URL/ca\0se HTTP/1.1"), (REFUSED,), "9112 3", (400,)),
    Case("a blank in the target", get("GET @URL/ca se HTTP/1.1"), (REFUSED,), "9112 3", (400,)),
    Case("a method that is no token", get("G{T @URL/case HTTP/1.1"), (REFUSED,), "9112 3", (400,)),
    Case("HTTP/2.0 as the version", get("GET @URL/case HTTP/2.0"), (REFUSED,), "9110 15.6.6", (400, 505)),
    Case("HTTP/1.2 as the version", get("GET @URL/case HTTP/1.2"), EITHER, "9110 2.5"),
    Case("a fragment in the target", get("GET @URL/case#part HTTP/1.1"), EITHER, "9112 3.2.2"),
    Case("user:password@ in the target", get("GET http://user:secret@@HOST/case HTTP/1.1"), EITHER, "9110 4.2.4",
         trait=r"secret|\r\nauthorization:"),
    Case("no Host", get(fields=""), (REFUSED,), "9112 3.2", (400,)),
    Case("the same Host twice", with_host("Host: @HOST\r\n"), (REFUSED,), "9112 3.2", (400,)),
    Case("two different Hosts", with_host("Host: other.test\r\n"), (REFUSED,), "9112 3.2", (400,)),
    Case("a Host that is no host", get(fields="Host: a b/c\r\n"), (REFUSED,), "9112 3.2", (400,)),
    Case("a Host that is not the target's", get(fields="Host: other.test\r\n"), EITHER, "9112 3.2.2",
         trait=r"host: *other\.test"),
    Case("CONNECT to port 0", "CONNECT 127.0.0.1:0 HTTP/1.1\r\nHost: 127.0.0.1:0\r\n\r\n", (REFUSED,), "9110 9.3.6"),
)

FIELDS = (
    Case("a blank before a colon", with_host("X : a\r\n"), (REFUSED,), "9112 5.1", (400,)),
    faulty("a blank before the colon of Content-Length", "Content-Length : 5\r\n", "hello", "9112 5.1"),
    Case("a folded line", with_host("X: a\r\n b\r\n"), EITHER, "9112 5.2"),
    Case("a folded Transfer-Encoding", post("Transfer-Encoding:\r\n chunked\r\n", HELLO), EITHER, "9112 5.2"),
    Case("a line without a colon", with_host("no colon\r\n"), EITHER, "9112 5"),
    Case("a field without a name", with_host(": x\r\n"), EITHER, "9110 5.1"),
    Case("a byte 0x85 in a field's name", with_host("X\x85: x\r\n"), EITHER, "9110 5.1"),
    Case("a NUL in a value", with_host("X: a\0b\r\n"), EITHER, "9110 5.5"),
    Case("a bare CR and Transfer-Encoding in a value",
         post("X: a\rTransfer-Encoding: chunked\r\nContent-Length: 5\r\n", "hello"), EITHER, "9112 2.2"),
    Case("a blank before the first field", "GET @URL/case HTTP/1.1\r\n X: a\r\nHost: @HOST\r\n\r\n", EITHER, "9112 2.2",
         trait=r"\nX: a"),
    Case("Connection that names Content-Length", post("Connection: Content-Length\r\nContent-Length: @SIZE\r\n", HIDDEN),
         EITHER, "9110 7.6.1"),
    Case("Connection that names another field", with_host("Connection: X-Hop\r\nX-Hop: secret\r\n"), EITHER,
         "9110 7.6.1", trait="secret"),
    Case("an upgrade to h2c", with_host("Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
                                        "HTTP2-Settings: AAMAAABkAAQAAP__\r\n"), (REFUSED, CLEAN, AS_SENT), "9110 7.8",
         trait="h2c"),
    Case("credentials for the proxy", with_host("Proxy-Authorization: Basic c2VjcmV0\r\n"), EITHER, "9110 11.7.2",
         trait="c2VjcmV0"),
    Case("100 KiB of fields", with_host(f"X: {'v' * 1021}\r\n" * 100), EITHER, "6585 5"),
    Case("OPTIONS with Max-Forwards: 0", get("OPTIONS @URL/case HTTP/1.1", "Host: @HOST\r\nMax-Forwards: 0\r\n"),
         (ANSWERED, REFUSED), "9110 7.6.2"),
    Case("an expectation that nobody knows", post("Content-Length: 0\r\nExpect: miracles\r\n", ""), EITHER,
         "9110 10.1.1", (417,)),
)

BODIES = (
    Case("Content-Length, then Transfer-Encoding", post("Content-Length: 15\r\n" + CHUNKED, HELLO) + HIDDEN, EITHER,
         "9112 6.1", closes=True),
    Case("Transfer-Encoding, then Content-Length", post(CHUNKED + "Content-Length: 3\r\n", HELLO) + HIDDEN, EITHER,
         "9112 6.1", closes=True),
    faulty("two different Content-Lengths", "Content-Length: 5\r\nContent-Length: 6\r\n", "hello", "9112 6.3"),
    faulty("Content-Length: 5, 6", "Content-Length: 5, 6\r\n", "hello", "9112 6.3"),
    Case("Content-Length: 5, 5", post("Content-Length: 5, 5\r\n", "hello"), EITHER, "9112 6.3", (400,)),
    faulty("Content-Length: +5", "Content-Length: +5\r\n", "hello", "9112 6.3"),
    faulty("Content-Length: 0x5", "Content-Length: 0x5\r\n", "hello", "9112 6.3"),
    faulty("Content-Length: 2^64 + 5", "Content-Length: 18446744073709551621\r\n", "hello", "9112 6.3", (400, 413)),
    faulty("Transfer-Encoding: xchunked", "Transfer-Encoding: xchunked\r\n", HELLO, "9112 6.1", (400, 501)),
    faulty("Transfer-Encoding: chunked, identity", "Transfer-Encoding: chunked, identity\r\n", HELLO, "9112 6.3",
           (400, 501)),
    faulty("Transfer-Encoding: VT chunked", "Transfer-Encoding: \x0bchunked\r\n", HELLO, "9112 6.1", (400, 501)),
    Case("Transfer-Encoding in HTTP/1.0", post(CHUNKED, HELLO, "1.0") + HIDDEN, EITHER, "9112 6.1"),
    faulty("a chunk of 0x5 bytes", CHUNKED, "0x5\r\nhello\r\n0\r\n\r\n", "9112 7.1", ()),
    faulty("a chunk size of 17 digits", CHUNKED, "10000000000000005\r\nhello\r\n0\r\n\r\n", "9112 7.1", ()),
    faulty("a chunk longer than it says", CHUNKED, "4\r\nhello\r\n0\r\n\r\n", "9112 7.1", ()),
    Case("chunk lines that end in a bare LF", post(CHUNKED, "5\nhello\r\n0\n\r\n"), EITHER, "9112 7.1"),
    Case("a bare LF in a chunk extension", post(CHUNKED, "5;a\nb\r\nhello\r\n0\r\n\r\n"), EITHER, "9112 7.1.1"),
    Case("a semicolon in a quoted chunk extension", post(CHUNKED, '5;a="b;c"\r\nhello\r\n0\r\n\r\n'), (CLEAN,), "9112 7.1.1"),
    Case("an escaped quote and blanks in a chunk extension", post(CHUNKED, '5 ; a = "b\\"c" ;d\r\nhello\r\n0\r\n\r\n'),
         (CLEAN,), "9112 7.1.1"),
    faulty("a chunk extension whose quote does not close", CHUNKED, '5;a="b\r\nhello\r\n0\r\n\r\n', "9112 7.1.1"),
    Case("Content-Length as a trailer", post(CHUNKED, "5\r\nhello\r\n0\r\nContent-Length: 50\r\n\r\n"), EITHER,
         "9110 6.5.1", trait="content-length: 50"),
    Case("a GET with a request as its body", f"GET @URL/case HTTP/1.1\r\nHost: @HOST\r\nContent-Length: @SIZE\r\n\r\n{HIDDEN}",
         EITHER, "9110 9.3.1"),
    Case("a request behind Connection: close", with_host("Connection: close\r\n") + HIDDEN, (CLEAN,), "9112 9.6"),
    Case("a malformed request behind a good one, then another", get() + get("GET @URL/ca\0se HTTP/1.1") + HIDDEN, (CLEAN,),
         "9112 9.3.2"),
)

CASES = LINES + FIELDS + BODIES
