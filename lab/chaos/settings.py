# SPDX-License-Identifier: Apache-2.0
"""The upstreams of a chaos run, and the configurations that are made of them: one to begin with, others to reload, and
some that are no good. For the programs of this folder only."""

import dataclasses

from limits import Pacer, Semaphore, SlidingWindow, TokenBucket, Window
from tls_origin import NAME

TIMEOUTS = "{ connect: 1s, firstByte: 700ms, idle: 700ms, total: 5s, tunnelIdle: 800ms }"
SAFE = ("GET", "HEAD", "OPTIONS", "TRACE")
REPEATS = {"off": (), "safe": SAFE, "idempotent": (*SAFE, "PUT", "DELETE")}


@dataclasses.dataclass(frozen=True)
class Upstream:
    """One entry. `most`: maxConcurrent; `share`: how much of the load it gets."""
    name: str
    host: str
    most: int
    share: int
    limit: object = None
    shared: bool = True
    group: str = ""
    waiting: str = "{ maxPending: 200, maxWait: 1500ms }"
    over_tls: bool = False
    longest_pause: str = "400ms"
    failures: str = "off"  # which methods are sent again where they have failed

    @property
    def capacity(self):
        """How many may be in flight at once."""
        return min(self.most, self.limit.capacity) if isinstance(self.limit, Semaphore) else self.most

    @property
    def repeats(self):
        """The methods of these."""
        return REPEATS[self.failures]

    def yaml(self, place):
        lines = [f'  "{self.name}":']
        if self.name != "*":
            lines.append(f'    match: {"[]" if self.name == "gate" else chr(34) + self.host + chr(34)}')
        lines += [f"    maxConcurrent: {self.most}", f"    queue: {self.waiting}", f"    maxPause: {self.longest_pause}",
                  f"    retry: {{ failures: {self.failures} }}"]
        if self.over_tls:
            lines.append(f"    tls: {{ ca: {place.authority} }}")
        if self.name == "gate":
            lines.append(f"    baseUrl: https://{self.host}:{place.ports[self.name]}/base")
        elif self.over_tls:
            lines.append("    https: originate")
        if self.group:
            lines.append(f'    group: "{self.group}"')
        if self.limit:
            per = ", per: group" if self.group else ""
            shared = "" if self.shared else ", shared: false"
            lines.append(f"    limits: [{{ {self.limit.yaml()}{per}{shared} }} }}]")
        return "\n".join(lines)


UPSTREAMS = {upstream.name: upstream for upstream in (
    Upstream("plain", "plain.test", 12, 20, failures="safe"),
    Upstream("secure", NAME, 8, 10, over_tls=True),
    Upstream("gate", NAME, 4, 6, over_tls=True, failures="idempotent"),
    Upstream("narrow", "narrow.test", 2, 6, waiting="{ maxPending: 6, maxWait: 400ms }"),
    Upstream("grouped", "grouped.test", 6, 8, SlidingWindow(12, 2.0), group="path:/{tenant}"),
    Upstream("paced", "paced.test", 10, 7, Pacer(15, 5), shared=False, longest_pause="300ms"),
    Upstream("sliding", "sliding.test", 10, 7, SlidingWindow(30, 2.0)),
    Upstream("bucket", "bucket.test", 10, 7, TokenBucket(15, 2, 0.15)),
    Upstream("windowed", "windowed.test", 10, 7, Window(8, 0.5)),
    Upstream("permits", "permits.test", 8, 5, Semaphore(3)),
    Upstream("tunnels", "*.tunnel.test", 6, 8),
    Upstream("*", "wild.test", 3, 9),
)}


@dataclasses.dataclass(frozen=True)
class Place:
    """What a configuration must know of this machine."""
    ports: dict          # of the origins, by upstream
    authority: str       # the path of a certificate
    names: str           # host:port of the name server
    redis: int
    events: str


def configuration(place, upstreams=UPSTREAMS):
    return "\n".join([
        "version: 1",
        "proxy: { listen: 127.0.0.1:0, grace: 2s }",
        "admin: { listen: 127.0.0.1:0 }",
        f'log: {{ level: info, events: "{place.events}" }}',
        f"dns: {{ servers: [{place.names}], timeout: 2s }}",
        f"redis: {{ url: redis://127.0.0.1:{place.redis}/0, prefix: chaos, timeout: 300ms }}",
        f"access: {{ connectPorts: [{place.ports['tunnels']}], plainPorts: [] }}",
        f"defaults: {{ timeouts: {TIMEOUTS} }}",
        "upstreams:",
        *(upstream.yaml(place) for upstream in upstreams.values()),
        ""])


def changed(random, upstreams):
    """Others of the same names: more or fewer at once, looser or stricter limits."""
    def one(upstream):
        most = max(1, round(upstream.most * random.choice((0.5, 1, 1, 2))))
        limit = upstream.limit and upstream.limit.scaled(random.choice((0.5, 1, 1, 1.5)))
        return dataclasses.replace(upstream, most=most, limit=limit)
    return {name: one(upstream) for name, upstream in upstreams.items()}


def spoiled(random, text):
    """The same with an error that must keep it from being taken."""
    return random.choice((
        lambda: text.replace("maxConcurrent", "maxConcurent", 1),
        lambda: text.replace("version: 1", "version: 1\nversion: 1"),
        lambda: text.replace("timeout: 2s", "timeout: 2"),
        lambda: text.replace("grace: 2s", "grace: -2s"),
        lambda: text + "  plain: [\n",
        lambda: text.replace("match: \"narrow.test\"", "match: \"plain.test\""),
        lambda: "",
    ))()
