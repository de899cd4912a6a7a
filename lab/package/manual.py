# SPDX-License-Identifier: Apache-2.0
"""Manual pages: the options from the program's --help, the rest from docs/command-line.md; penstock.yaml(5) is
config/reference.yaml as it stands. For the programs of this folder only."""

import re


def escaped(text):
    text = text.replace("\\", r"\e").replace("-", r"\-").replace("'", r"\(aq").replace("`", r"\(ga")
    return re.sub(r"^\.", r"\&.", text)


def inline(text):
    """Links become their text, what is code or strong becomes bold."""
    text = re.sub(r"\[([^\]]+)\]\([^)]+\)", r"\1", text)
    said = ""
    for part in re.split(r"(`[^`]+`|\*\*[^*]+\*\*)", text):
        strong = part.strip("`") if part.startswith("`") else part.strip("*") if part.startswith("**") else None
        said += escaped(part) if strong is None else r"\fB" + escaped(strong) + r"\fR"
    return said


def verbatim(lines):
    return [".PP", ".nf", *[escaped(line) for line in lines], ".fi"]


def table(lines):
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    said = []
    for first, *others in rows:
        if first and not re.fullmatch(r"-+", first):
            said += [".TP", inline(first), inline("; ".join(others))]
    return said


def block(lines):
    """One of Markdown's blocks, which are apart by empty lines."""
    if lines[0].startswith("    "):
        return verbatim([line[4:] for line in lines])
    if lines[0].startswith("|"):
        return table(lines)
    if lines[0].startswith("#"):
        return [".SS " + inline(lines[0].lstrip("# "))]
    items = re.split(r"\n- ", "\n" + "\n".join(lines))
    said = [".PP", inline(" ".join(items[0].split()))] if items[0].strip() else []
    for item in items[1:]:
        said += [".IP \\(bu 2", inline(" ".join(item.split()))]
    return said


def from_markdown(text):
    said, fenced = [], False
    for part in re.split(r"^```\w*\n", text, flags=re.MULTILINE):
        if fenced:
            said += verbatim(part.rstrip("\n").split("\n"))
        else:
            # An empty line between two lines of code belongs to the code.
            for lines in re.split(r"\n\n+(?!    )|(?<!\A)\n\n+(?=    )", part.strip("\n")):
                if lines.strip():
                    said += block(lines.split("\n"))
        fenced = not fenced
    return said


def sections(markdown):
    """The text under each heading of the second level, and under no heading at all: ''."""
    parts = re.split(r"^## (.+)\n", markdown, flags=re.MULTILINE)
    return {"": parts[0].split("\n", 1)[1], **dict(zip(parts[1::2], parts[2::2]))}


def head(name, section, version, what):
    return [f'.TH {name.upper()} {section} "" "Penstock {version}" "Penstock"', ".SH NAME",
            rf"{escaped(name)} \- {inline(what.removeprefix('Penstock: '))}"]


def rows(title, pairs):
    said = [".SH " + title] if pairs else []
    for written, what in pairs:
        said += [".TP", inline(f"`{written.replace(',', ', ')}`"), inline(what)]
    return said


def command_page(commands, version, told):
    """The page of a command, with those below it; `told` is Markdown."""
    first = commands[0]
    name = "-".join(["penstock", *first.name.split()])
    said = head(name, 1, version, first.what) + [".SH SYNOPSIS"]
    for command in commands:
        said += [".PP", inline(f"`{command.usage}`")]
    said += [".SH DESCRIPTION", *from_markdown(told)]
    said += rows("COMMANDS", first.commands)
    options = dict(pair for command in commands for pair in command.options)
    said += rows("OPTIONS", options.items())
    if first.footer:
        said += [".PP", inline(first.footer)]
    return name + ".1", "\n".join([*said, ".SH SEE ALSO", r"\fBpenstock\fR(1), \fBpenstock.yaml\fR(5)", ""])


def pages(commands, version, command_line, reference):
    """The file name and the text of each page."""
    told = sections(command_line)
    yield command_page(commands[:1], version, told[""])
    for command in commands:
        if command.name and " " not in command.name:
            below = [each for each in commands if each.name.startswith(command.name + " ")]
            yield command_page([command, *below], version, told[command.name])
    text = head("penstock.yaml", 5, version, "the configuration of penstock, each key with its default")
    yield "penstock.yaml.5", "\n".join([*text, ".SH DESCRIPTION", *verbatim(reference.rstrip("\n").split("\n")),
                                        ".SH SEE ALSO", r"\fBpenstock\fR(1)", ""])
