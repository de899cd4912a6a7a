# SPDX-License-Identifier: Apache-2.0
"""What the built program says of its own commands by --help. For the programs of this folder only."""

import dataclasses
import re
import subprocess


@dataclasses.dataclass
class Command:
    """`options` and `commands`: pairs of how it is written and what it does, in the order of the help."""

    name: str
    what: str
    usage: str
    options: list
    commands: list
    footer: str


def ask(program, *words):
    """The command that the words name, or the program itself. `program`: how it is run, in words."""
    said = subprocess.run([*program, *words, "--help"], capture_output=True, text=True, check=True).stdout
    what, usage, *rest = said.splitlines()
    rows, footer = {"Options:": [], "Subcommands:": [], "Positionals:": []}, []
    section = None
    for line in rest:
        if line in rows:
            section = rows[line]
        elif line.startswith("  "):
            section.append(tuple(re.split(r"\s{2,}", line.strip(), maxsplit=1)))
        elif line:
            footer.append(line)
    return Command(" ".join(words), what, usage.removeprefix("Usage: "),
                   rows["Positionals:"] + rows["Options:"], rows["Subcommands:"], " ".join(footer))


def ask_all(program):
    """The program, its commands, and theirs."""
    found, waiting = [], [()]
    while waiting:
        words = waiting.pop(0)
        found.append(ask(program, *words))
        waiting += [(*words, name) for name, _ in found[-1].commands]
    return found


def words_after(command):
    """What can be typed after a command: commands and options, each with what it does."""
    flags = [(flag, what) for written, what in command.options
             for flag in written.split()[0].split(",") if flag.startswith("-")]
    return command.commands + flags
