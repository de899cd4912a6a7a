# SPDX-License-Identifier: Apache-2.0
"""The book of a chaos run: what each client sent and got, what each origin saw, what the event log says, and whether
these agree. Knows nothing of sockets. For the programs of this folder only."""

import collections
import dataclasses
import datetime
import json
import re
import time

import limits

OUTCOMES = ("complete", "error", "refused", "gone")
NAMED = re.compile(r"/c/(\d+-\d+)/|^t(\d+-\d+)\.tunnel\.test$")
SETTLING = 1.0  # seconds in which a process notices that Redis is back, and hands in what it knows
MAY_COME_AGAIN = ("GET", "HEAD", "OPTIONS", "TRACE")


def pattern(name, size):
    """The body of a request or answer of that name: no other has a byte of it at the same place for long."""
    piece = f"<{name}>".encode()
    return (piece * (size // len(piece) + 1))[:size]


def named(event):
    """The name of the request in a line of the event log; nothing where it has none."""
    if event.get("method") == "CONNECT" or not event["path"]:
        found = NAMED.search(event["host"])
    else:
        found = NAMED.search(event["path"])
    return found and (found[1] or found[2])


def seconds(ts):
    return datetime.datetime.fromisoformat(ts).timestamp()


@dataclasses.dataclass
class Sighting:
    """One request as an origin saw it. `together`: how many it had then, this one included."""
    at: float
    together: int
    connection: int
    nth: int          # on its connection, from 1
    place: str = ""   # of the origins' own: what counts as one upstream


@dataclasses.dataclass
class Request:
    """One request as its client knows it."""
    name: str
    method: str
    upstream: str
    group: str = ""
    has_body: bool = False
    sent: str = "nothing"   # nothing, part, head, all: what was handed to the socket
    left: str = ""          # how the client left, if it did
    status: int = 0         # of the final answer
    own: str = ""           # its error token, where Penstock made it
    whole: bool = False
    cut: str = ""           # how the answer, or the connection instead of one, broke off
    behind_end: bool = False  # the connection ended with an answer before this one's
    behind_early: bool = False  # the answer before may have come before its upload, which ends the connection unsaid
    script: str = ""
    may_be_repeated: bool = False  # after a failure
    is_bad: bool = False      # malformed: the log need not know its name
    is_never: bool = False    # behind a malformed one: nobody may ever see it
    is_truncated: bool = False  # its origin was killed amid an answer without a length: its end looks like any other
    sightings: list = dataclasses.field(default_factory=list)
    events: list = dataclasses.field(default_factory=list)

    @property
    def outcomes(self):
        return [event for event in self.events if event["event"] in OUTCOMES]

    @property
    def attempts(self):
        """As the log says: each is a sending of its own, and all have one outcome."""
        return self.outcomes[0].get("attempts", 1) if self.outcomes else 1

    @property
    def dispatched(self):
        return next((seconds(event["ts"]) for event in self.events if event["event"] == "dispatch"), None)

    def lines(self):
        """All that is known of it."""
        client = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)
                  if field.name not in ("sightings", "events")}
        return [f"client {client}", *(f"origin {sighting}" for sighting in self.sightings),
                *(f"log    {json.dumps(event)}" for event in self.events)]


@dataclasses.dataclass
class Breach:
    what: str
    lines: list

    def __str__(self):
        shown = self.lines if len(self.lines) <= 200 else [*self.lines[:100], "…", *self.lines[-100:]]
        return "\n    ".join([f"BREACH: {self.what}", *shown])


@dataclasses.dataclass
class InForce:
    """Settings of all upstreams, and from when to when they may have counted."""
    upstreams: dict
    begin: float
    end: float = float("inf")


class Ledger:
    """One round. Clients, origins and the reader of the log write into it; breaches() judges when all is over."""

    def __init__(self):
        self.requests = {}
        self.unnamed = []        # events without a name of ours
        self.found = []          # breaches noticed on the way
        self.in_force = []
        self.memory_lost = []    # when Redis did
        self.switches = []       # when limits may have gone over to this process alone, or come back
        self.faults = []         # (when, what) was done to the world

    def expect(self, request):
        self.requests[request.name] = request
        return request

    def done(self, what):
        self.faults.append((time.time(), what))

    def switched(self):
        self.switches.append(time.time())

    def lost_memory(self):
        """It does so for up to a second, in which limits are kept here."""
        self.memory_lost.append(time.time())
        self.switches += [time.time(), time.time() + SETTLING]

    def breach(self, what, name=None):
        self.found.append((what, name))

    def truncated(self, name):
        if request := self.requests.get(name):
            request.is_truncated = True

    def saw(self, name, sighting):
        """An origin."""
        if request := self.requests.get(name):
            request.sightings.append(sighting)
        else:
            self.breach(f"an origin saw a request that nobody sent: {name} {sighting}")

    def logged(self, event):
        request = self.requests.get(named(event))
        (request.events if request else self.unnamed).append(event)

    def breaches(self, lag):
        """`lag`: by how much the program itself may have been late, in seconds."""
        found = [Breach(what, self._lines(name)) for what, name in self.found]
        for request in self.requests.values():
            found += [Breach(f"{request.name}: {what}", request.lines()) for what in judged(request)]
        found += self._crowds(lag)
        for name in {request.upstream for request in self.requests.values()}:
            found += self._rates(name, lag)
        return found

    def _lines(self, name):
        return self.requests[name].lines() if name in self.requests else []

    def settings(self, name, begin, end):
        """Those of an upstream that may have been in force at any moment of this stretch."""
        return [force.upstreams[name] for force in self.in_force if force.begin <= end and begin <= force.end]

    def _crowds(self, lag):
        found = []
        for request in self.requests.values():
            for sighting in request.sightings:
                begin = (request.dispatched or sighting.at) - lag
                most = max(each.capacity for each in self.settings(request.upstream, begin, sighting.at))
                if sighting.together > most:
                    what = f"{request.name}: the origin of {request.upstream} had {sighting.together} at once, not {most}"
                    found.append(Breach(what, request.lines()))
        return found

    def _rates(self, name, lag):
        groups = collections.defaultdict(list)
        for request in self.requests.values():
            if request.upstream == name:
                groups[request.group].append(request)
        groups = {group: arrivals(requests) for group, requests in groups.items()}

        def allowed(begin, end):
            kinds = [each.limit for each in self.settings(name, begin, end)]
            if None in kinds:
                return float("inf")
            lost = sum(begin <= at + SETTLING and at <= end for at in self.memory_lost)
            switched = sum(begin <= at + SETTLING and at <= end for at in self.switches)
            return max(kind.bound(begin, end) + kind.more(lost, switched) for kind in kinds)

        return [self._rate_breach(name, group, *breach) for group, came in groups.items()
                for breach in limits.too_many(came, allowed, lag)[:1]]

    def _rate_breach(self, name, group, came, most):
        begin, end = came[0].at, came[-1].at
        what = f"{name} {group}: {len(came)} requests within {end - begin:.3f} s, where {most:.1f} may be"
        lines = [(at, f"{at - begin:+8.3f} {fault}") for at, fault in self.faults if begin - 2 <= at <= end]
        lines += [(each.at, f"{each.at - begin:+8.3f} {each.name} arrived, {each.at - each.dispatched:.3f} s after its dispatch")
                  for each in came]
        again = sorted({each.name for each in came if len(self.requests[each.name].sightings) > 1})
        return Breach(what, [*[line for _, line in sorted(lines)], *(line for one in again for line in self._lines(one))])


def arrivals(requests):
    """Each sending of these counts. When a later one of a request left is not in the log: it may have come as late as
    the latest of the first ones."""
    late = max((request.sightings[0].at - request.dispatched for request in requests
                if request.sightings and request.dispatched), default=0)
    return [limits.Arrival((request.dispatched or sighting.at) if nth == 0 else sighting.at - late, sighting.at, request.name)
            for request in requests for nth, sighting in enumerate(request.sightings)]


def judged(request):
    """What is wrong with one request."""
    if request.is_never:
        return ["a request behind a malformed one was taken up"] if request.events or request.sightings else []
    return [*outcome_wrongs(request), *answer_wrongs(request), *origin_wrongs(request)]


def outcome_wrongs(request):
    outcomes = request.outcomes
    kinds = [event["event"] for event in request.events]
    if len(outcomes) > 1:
        yield f"{len(outcomes)} outcomes"
    if not outcomes and request.events:
        yield "dispatched, and without an outcome"
    if not outcomes and must_be_known(request):
        yield "no event at all"
    if outcomes:
        flew = outcomes[0]["event"] in ("complete", "error")
        if kinds.count("dispatch") != int(flew) or (flew and kinds[0] != "dispatch"):
            yield f"events in the wrong order or number: {kinds}"
        if outcomes[0]["event"] == "gone" and not request.left:
            yield "gone, but its client stayed"
        if len({event["id"] for event in request.events}) != 1:
            yield "more than one id"


def must_be_known(request):
    """Whether it was accepted for sure: all of it was sent, and its client waited for what would come of it."""
    return request.sent in ("head", "all") and not request.left and not (
        request.behind_end or request.is_bad or (request.behind_early and request.cut))


def answer_wrongs(request):
    if not request.outcomes:
        return
    outcome = request.outcomes[0]
    if request.status and outcome.get("status") != request.status:
        yield f"the client got {request.status}, the log says {outcome.get('status')}"
    if request.left or (request.method == "CONNECT" and request.status == 200):
        return
    if outcome["event"] == "complete" and not (request.whole and not request.own):
        yield "complete, but the client has not got the origin's answer whole"
    if outcome["event"] == "error" and request.whole and not request.own:
        yield "an error, but the client got the origin's answer whole"
    if outcome["event"] == "refused" and not request.own:
        yield "refused, but the client got no answer of Penstock's"
    if outcome["event"] == "error" and not request.own and not request.cut:
        yield "an error, but the client saw none"


def origin_wrongs(request):
    seen = len(request.sightings)
    outcomes = request.outcomes
    if outcomes and outcomes[0]["event"] in ("refused", "gone") and seen:
        yield f"{outcomes[0]['event']}, but an origin saw it"
    if not outcomes and seen:
        yield "an origin saw it, the log does not know it"
    again = request.method in MAY_COME_AGAIN and not request.has_body
    attempts = request.attempts
    if attempts > 1 and not (request.script.startswith("pause") or request.may_be_repeated):
        yield f"{attempts} attempts, though nothing refused it"
    if attempts > 1 and seen < attempts - 1 and not request.may_be_repeated:
        yield f"{attempts} attempts, of which an origin saw {seen}: who has refused the others?"
    if seen > attempts * (2 if again else 1):
        yield f"an origin saw it {seen} times"
    if seen == 2 and attempts == 1 and again and request.sightings[0].nth == 1:
        yield "sent again although its connection was a new one"
    if outcomes and outcomes[0]["event"] == "complete" and not seen and request.method != "CONNECT":
        yield "complete, but no origin saw it"
