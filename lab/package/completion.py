# SPDX-License-Identifier: Apache-2.0
"""Completion for shells, from what the program says by --help. Where no word fits, the shell offers files. For the
programs of this folder only."""

import shlex

import command_line


def cases(commands):
    """One for each command that is not the program itself: the words before the one to complete, and those to offer."""
    for command in sorted(commands, key=lambda each: -len(each.name)):
        yield command.name, command_line.words_after(command)


def bash(commands):
    said = ["_penstock() {", "  local words", '  case "${COMP_WORDS[*]:1:COMP_CWORD-1} " in']
    for name, words in cases(commands):
        pattern = f'"{name} "*' if name else "*"
        said.append(f"    {pattern}) words={shlex.quote(' '.join(word for word, _ in words))} ;;")
    return "\n".join([*said, "  esac", '  mapfile -t COMPREPLY < <(compgen -W "$words" -- "${COMP_WORDS[COMP_CWORD]}")', "}",
                      "complete -o default -F _penstock penstock", ""])


def zsh(commands):
    said = ["#compdef penstock", "local -a words_here", 'case "${words[2,CURRENT-1]} " in']
    for name, words in cases(commands):
        pattern = f'"{name} "*' if name else "*"
        offers = " ".join(shlex.quote(word.replace(":", r"\:") + ":" + what) for word, what in words)
        said.append(f"  {pattern}) words_here=({offers}) ;;")
    return "\n".join([*said, "esac", "_describe penstock words_here || _files", ""])


def fish(commands):
    said = []
    for command in commands:
        depth = len(command.name.split())
        below = [name for name, _ in command.commands]
        where = ["__fish_seen_subcommand_from " + command.name.split()[-1]] if depth else []
        where += ["not __fish_seen_subcommand_from " + " ".join(below)] if below else []
        condition = "; and ".join(where)
        for word, what in command_line.words_after(command):
            if word.startswith("--"):
                given = f"-l {word[2:]}"
            elif word.startswith("-"):
                given = f"-s {word[1:]}"
            else:
                given = f"-f -a {word}"
            said.append(f"complete -c penstock -n {shlex.quote(condition or 'true')} {given} -d {shlex.quote(what)}")
    return "\n".join(said) + "\n"
