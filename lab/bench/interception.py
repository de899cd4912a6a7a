# SPDX-License-Identifier: Apache-2.0
"""TLS to both sides, with a certificate of the proxy's own: Penstock beside mitmproxy and Squid, and a tunnel that is
not opened, in one run on one machine. Called by script/bench, which builds first."""

import argparse
import contextlib
import dataclasses
import http.client
import ssl
import statistics

import measures
from command import options, publish
from interceptors import INTERCEPTION_RECIPES, TUNNEL, Interceptor, Signer, tls_load
from measures import median_of, sample_of, told
from page import compared, joined
from processes import Failed
from proxies import Bench
from runs import machine, result_of, say
from tls_origin import TlsOrigin

WAYS = {"kept": "kept", "new": "one each"}  # as bench_tls_load names them, and as the tables do


@dataclasses.dataclass(frozen=True)
class Sample(measures.Sample):
    upstream: float  # connections that the origin saw for one request


@dataclasses.dataclass(frozen=True)
class Side:
    """What all measurements of a run have in common."""
    bench: Bench
    origin: TlsOrigin
    signer: Signer
    chosen: argparse.Namespace

    def door(self, name):
        """The origin as a proxy must know it: to a tunnel, it is like any other."""
        door = self.origin.tls
        return dataclasses.replace(door, tls=None) if name == TUNNEL else self.signer.known_at(door)

    def authority(self, name):
        """Whom the client trusts, and nobody else: so it is certain who made the certificate."""
        return self.origin.tls.tls["CA"] if name == TUNNEL else self.signer.certificate

    def sample(self, way, name, proxy):
        chosen = self.chosen
        proxy.empty_log()
        before = self.origin.seen()
        with tls_load(self.bench, way, proxy, self.origin.tls, self.authority(name), chosen) as load:
            result, spent = told(proxy, load, load, self.origin)
        seen = self.origin.seen()
        requests, connections = (seen[what] - before[what] for what in ("requests", "connections"))
        if requests != (answered := result["with_warm_up"]):
            raise Failed(f"{name}: the origin saw {requests} requests, the clients {answered} answers")
        plain = sample_of(proxy, result, spent)
        return Sample(*dataclasses.astuple(plain), connections / requests), result["tls"]


def check_judgement(side, name):
    """Who verifies nothing is not compared: where it trusts another authority than the origin's, no answer comes."""
    door = side.door(name)
    strange = dataclasses.replace(door, tls={**door.tls, "CA": side.signer.certificate})
    with Interceptor(side.bench, name, strange) as proxy:
        unverified = ssl._create_unverified_context()
        connection = http.client.HTTPSConnection("127.0.0.1", proxy.port, context=unverified, timeout=10)
        connection.set_tunnel("localhost", door.port)
        try:
            connection.request("GET", "/")
            status = connection.getresponse().status
        except (OSError, http.client.HTTPException):
            return
        finally:
            connection.close()
        if status < 500:
            raise Failed(f"{name} answers {status} where it should not trust the origin")


def run(chosen):
    """In turn: every proxy once each way, then again. What disturbs a round disturbs all proxies alike."""
    bench = Bench(chosen.build.resolve())
    samples, agreed = {}, {}
    with contextlib.ExitStack() as running:
        side = Side(bench, running.enter_context(TlsOrigin(bench)), running.enter_context(Signer()), chosen)
        names = [name for name, recipe in INTERCEPTION_RECIPES.items() if recipe.name in chosen.proxies]
        for name in names:
            if name != TUNNEL:
                check_judgement(side, name)
        proxies = {name: running.enter_context(Interceptor(bench, name, side.door(name))) for name in names}
        for turn in range(chosen.rounds):
            say(f"round {turn + 1} of {chosen.rounds}")
            for way in WAYS:
                for name, proxy in proxies.items():
                    sample, agreed[name] = side.sample(way, name, proxy)
                    samples.setdefault((way, name), []).append(sample)
    others = statistics.median(sample.others for taken in samples.values() for sample in taken)
    medians = {key: median_of(taken) for key, taken in samples.items()}
    where = f"{machine(bench, chosen, others)} {chosen.clients} clients at once. {agreed_text(agreed)}"
    return joined([where, *compared("connections", medians, WAYS.get, 0, [
        ("upstream connections/request", lambda one: f"{one.upstream:.2f}")])])


def agreed_text(agreed):
    """`agreed`: proxy → what TLS the client and the proxy agreed on."""
    kinds = dict.fromkeys(agreed.values())
    said = (kind if len(kinds) == 1 else f"{kind} ({', '.join(name for name in agreed if agreed[name] == kind)})"
            for kind in kinds)
    return f"TLS of the client, and the key of the certificate that it gets: {'; '.join(said)}."


CHOSEN = options("script/bench interception", __doc__, rounds=5, seconds=3, warm_up=0.5, clients=16,
                 proxies=["Penstock", "mitmproxy", "Squid"])
publish(result_of(lambda: run(CHOSEN)), "interception", CHOSEN)
