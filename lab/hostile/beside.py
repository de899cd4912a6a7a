# SPDX-License-Identifier: Apache-2.0
"""The same hostile requests through Squid, HAProxy and Penstock, in one run. Called by script/bench hostile, which
builds first."""

import argparse
import contextlib
import pathlib

from cases import CASES
from outcome import CLEAN, Outcome, play
from page import put
from processes import Failed
from proxies import Bench
from runs import result_of, say
from sheet import text_of
from where import here
from witness import Witness

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/security.md"
PROXIES = ["Penstock", "HAProxy", "Squid"]
PATIENCE = 3  # seconds until a proxy has nothing to say


def options():
    parser = argparse.ArgumentParser(prog="script/bench hostile", description=__doc__)
    parser.add_argument("--proxies", type=lambda text: text.split(","), default=PROXIES, help=",".join(PROXIES))
    parser.add_argument("--print-only", action="store_true", help="leave docs/security.md as it is")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release", help="where the programs are")
    return parser.parse_args()


def all_of(bench, name):
    """Each proxy has a witness of its own: nobody inherits another's connections."""
    with contextlib.ExitStack() as running:
        witness = running.enter_context(Witness())
        proxy = running.enter_context(bench.proxy(name, witness))
        for case in CASES:
            became = play(case, proxy.port, witness, PATIENCE)
            proxy.check()
            yield case, became


def run(chosen):
    bench = Bench(chosen.build.resolve())
    became: dict[tuple[str, str], Outcome] = {}
    for name in chosen.proxies:
        say(name)
        became |= {(name, case.name): outcome for case, outcome in all_of(bench, name)}
        if not any(became[name, case.name].kind == CLEAN for case in CASES):
            raise Failed(f"nothing came to the origin by {name}")
    versions = ", ".join(f"{name} {bench.version_of(name)}" for name in chosen.proxies)
    return text_of(f"{here()}; {versions}.", chosen.proxies, became)


def main():
    chosen = options()
    text = result_of(lambda: run(chosen))
    print(text)
    if chosen.proxies == PROXIES and not chosen.print_only:
        PAGE.write_text(put(text, PAGE.read_text(encoding="utf-8"), "hostile"), encoding="utf-8")
        print(f"Written to {PAGE.relative_to(ROOT)}.")


main()
