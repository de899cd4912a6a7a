# SPDX-License-Identifier: Apache-2.0
"""What the programs behind script/bench have in common on the outside: options, and the page that they write to. For the
programs of this folder only."""

import argparse
import pathlib

from page import put

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/performance.md"


def parser_of(name, about):
    parser = argparse.ArgumentParser(prog=name, description=about)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release", help="where the programs are")
    return parser


def options(name, about, rounds=0, **usual):
    """What was chosen, beside what is the same in each run: `rounds` as long as nobody wants others, and `usual`."""
    parser = parser_of(name, about)
    parser.add_argument("--print-only", action="store_true", help="leave docs/performance.md as it is")
    if rounds:
        parser.add_argument("--rounds", type=int, default=rounds, help=f"{rounds}; fewer are not written to the page")
    parser.set_defaults(least=rounds, **usual)
    return parser.parse_args()


def publish(text, name, chosen):
    """Prints it, and puts it between the page's markers of that name, where that is wanted."""
    print(text)
    if chosen.print_only or (chosen.least and chosen.rounds < chosen.least):
        return
    PAGE.write_text(put(text, PAGE.read_text(encoding="utf-8"), name), encoding="utf-8")
    print(f"Written to {PAGE.relative_to(ROOT)}.")
