# SPDX-License-Identifier: Apache-2.0
"""What the programs behind script/bench have in common on the outside: options, and the page that they write to. For the
programs of this folder only."""

import argparse
import pathlib

from page import put

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/performance.md"


def parser_of(name, about, writes=True):
    parser = argparse.ArgumentParser(prog=name, description=about)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release", help="where the programs are")
    if writes:
        parser.add_argument("--print-only", action="store_true", help="leave docs/performance.md as it is")
    return parser


def add_number(parser, name, default, what):
    parser.add_argument(name, type=type(default), default=default, help=f"{what}; {default:g}")


def add_list(parser, name, default):
    kind = type(default[0])
    parser.add_argument(name, type=lambda text: [kind(word) for word in text.split(",")], default=default,
                        help=",".join(map(str, default)))


def add_rounds(parser, rounds, each, seconds, warm_up):
    add_number(parser, "--rounds", rounds, f"each measures {each}")
    add_number(parser, "--seconds", float(seconds), "of each measurement")
    add_number(parser, "--warm-up", float(warm_up), "seconds before each measurement")


def publish(text, name, chosen, complete=True):
    """Prints it; of a complete run it is put between the page's markers of that name, too."""
    print(text)
    if chosen.print_only or not complete:
        return
    PAGE.write_text(put(text, PAGE.read_text(encoding="utf-8"), name), encoding="utf-8")
    print(f"Written to {PAGE.relative_to(ROOT)}.")
