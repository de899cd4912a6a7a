# SPDX-License-Identifier: Apache-2.0
"""Plain HTTP in, TLS out: Penstock beside nginx and HAProxy, and the same without TLS, in one run on one machine. Called
by script/bench, which builds first."""

import argparse
import contextlib
import dataclasses
import http.client
import os
import pathlib
import statistics
import tempfile

from measures import measure, median_of
from origination_page import text_of
from page import put
from processes import Failed
from proxies import Bench
from runs import machine, result_of, say
from tls_origin import TlsOrigin, make_authority

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/performance.md"
PROXIES = ["Penstock", "nginx", "HAProxy"]
CLIENTS = 64


def options():
    parser = argparse.ArgumentParser(prog="script/bench origination", description=__doc__)
    parser.add_argument("--rounds", type=int, default=7, help="each measures every proxy with and without TLS; 7")
    parser.add_argument("--seconds", type=float, default=3, help="of each measurement; 3")
    parser.add_argument("--warm-up", type=float, default=0.5, help="seconds before each measurement; 0.5")
    parser.add_argument("--clients", type=int, default=CLIENTS, help="64")
    parser.add_argument("--proxies", type=lambda text: text.split(","), default=PROXIES, help=",".join(PROXIES))
    parser.add_argument("--print-only", action="store_true", help="leave docs/performance.md as it is")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release", help="where the programs are")
    return parser.parse_args()


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


def main():
    chosen = options()
    text = result_of(lambda: run(chosen))
    print(text)
    if (chosen.clients, chosen.proxies) == (CLIENTS, PROXIES) and not chosen.print_only:
        PAGE.write_text(put(text, PAGE.read_text(encoding="utf-8"), "origination"), encoding="utf-8")
        print(f"Written to {PAGE.relative_to(ROOT)}.")


main()
