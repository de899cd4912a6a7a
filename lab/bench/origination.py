# SPDX-License-Identifier: Apache-2.0
"""Plain HTTP in, TLS out: Penstock beside nginx and HAProxy, and the same without TLS, in one run on one machine. Called
by script/bench, which builds first."""

import contextlib
import dataclasses
import http.client
import os
import statistics
import tempfile

from command import options, publish
from measures import measure, median_of
from page import OURS, compared, joined, judged, ratio
from processes import Failed
from proxies import Bench
from runs import machine, result_of, say
from tls_origin import TlsOrigin, make_authority

AIM = 1.2  # × the ratio to nginx for plain HTTP


def check_origin(seen, samples, clients):
    """Nobody caches or repeats, and connections are kept: otherwise it is handshakes that were measured."""
    answered = sum(sample.requests for taken in samples.values() for sample in taken)
    if seen["requests"] != answered:
        raise Failed(f"the origin saw {seen['requests']} requests, the clients {answered} answers")
    if seen["connections"] > 2 * clients * len(samples) + answered / 100:
        raise Failed(f"the origin saw {seen['connections']} connections for {answered} requests: somebody keeps none")


def check_judgement(bench, name, door, stranger):
    """Who verifies nothing is not compared: with another authority there must be no answer but the proxy's own."""
    with bench.proxy(name, dataclasses.replace(door, tls={**door.tls, "CA": f"{stranger}/ca.pem"})) as proxy:
        connection = http.client.HTTPConnection("127.0.0.1", proxy.port)
        connection.request("GET", f"http://127.0.0.1:{door.port}/")
        if (status := connection.getresponse().status) < 500:
            raise Failed(f"{name} answers {status} where it should not trust the origin")


def check_judgements(bench, names, door):
    with tempfile.TemporaryDirectory(prefix="bench-stranger-") as stranger:
        make_authority(stranger)
        os.chmod(stranger, 0o755)
        for name in names:
            check_judgement(bench, name, door, stranger)


def run(chosen):
    """In turn: every proxy once each way, then again. What disturbs a round disturbs all proxies alike."""
    bench = Bench(chosen.build.resolve())
    samples = {}
    with contextlib.ExitStack() as running:
        origin = running.enter_context(TlsOrigin(bench))
        check_judgements(bench, chosen.proxies, origin.tls)
        doors = {"http": origin.plain, "https": origin.tls}
        proxies = {(scheme, name): running.enter_context(bench.proxy(name, door))
                   for scheme, door in doors.items() for name in chosen.proxies}
        for turn in range(chosen.rounds):
            say(f"round {turn + 1} of {chosen.rounds}")
            for (scheme, name), proxy in proxies.items():
                sample = measure(bench, proxy, doors[scheme], chosen.clients, chosen.warm_up, chosen.seconds)
                samples.setdefault((scheme, name), []).append(sample)
        check_origin(origin.seen(), samples, chosen.clients)
    others = statistics.median(sample.others for taken in samples.values() for sample in taken)
    return text_of(machine(bench, chosen, others), {key: median_of(taken) for key, taken in samples.items()})


def text_of(where, samples):
    """`samples`: (scheme to the upstream, proxy) → measures.Sample."""
    plain, tls = (ratio(samples, (scheme, OURS), (scheme, "nginx"), "cpu_us") for scheme in ("http", "https"))
    aims = [(f"CPU a request beside nginx's: with TLS at most {AIM} times what it is without", tls / plain, AIM,
             f"{tls:.2f} ÷ {plain:.2f} = {{:.2f}}")]
    return joined([where, *compared("upstream", samples), *judged(aims)])


CHOSEN = options("script/bench origination", __doc__, rounds=7, seconds=3, warm_up=0.5, clients=64,
                 proxies=["Penstock", "nginx", "HAProxy"])
publish(result_of(lambda: run(CHOSEN)), "origination", CHOSEN)
