#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
# Holds the sentences of README.md and docs/ to lengths that are read once.
#   sentences_test.py --root=. [unittest's arguments…]
"""Half of a page's sentences have 15 words at most, and none has more than 35."""
import argparse
import pathlib
import re
import statistics
import sys
import unittest
from typing import NamedTuple

ARGUMENTS = argparse.Namespace()
MEDIAN = 15
LONGEST = 35

FENCE = re.compile(r"\s*(```+|~~~+)")
HEADING = re.compile(r"#{1,6} ")
ITEM = re.compile(r"^\s*(?:[-*+]|\d+\.)\s+")
# What may close behind the sign that ends a sentence: a quotation, a bracket, an emphasis.
END = re.compile(r"[.!?:][\"”)\]*_]*(?=\s|$)")
# They stand for a blank, and for the end of a line, inside of code, which is one word.
BLANK, NEWLINE = "\ue000", "\ue001"
IN_CODE = str.maketrans({" ": BLANK, "\n": NEWLINE})


class Sentence(NamedTuple):
    line: int
    words: int
    text: str


def without_comments(text):
    return re.sub(r"<!--.*?-->", lambda found: "\n" * found[0].count("\n"), text, flags=re.DOTALL)


def blocks(text):
    """Paragraphs and items of lists, each as lines: (number, text). Code, tables, headings, comments are left out."""
    block, fence, is_code, was_empty, in_list = [], "", False, True, False
    for number, line in enumerate(without_comments(text).split("\n"), 1):
        opening = FENCE.match(line)
        if fence:
            fence = "" if opening and opening[1].startswith(fence) else fence
            continue
        is_empty, is_item, is_heading = not line.strip(), bool(ITEM.match(line)), bool(HEADING.match(line))
        in_list = is_item or in_list and not is_heading and (is_empty or line.startswith(" ") or not was_empty)
        is_code = line.startswith("    ") and not in_list and (is_code or was_empty)
        is_left_out = bool(opening) or is_code or is_heading or line.startswith("|")
        if block and (is_empty or is_item or is_left_out):
            yield block
            block = []
        if opening:
            fence = opening[1]
        elif not is_empty and not is_left_out:
            block.append((number, ITEM.sub("", line.removeprefix("> "))))
        was_empty = is_empty
    if block:
        yield block


def plain(text):
    """Code as one word, links as their text. It has as many lines as before."""
    text = re.sub(r"(`+)(.+?)\1", lambda found: found[0].translate(IN_CODE), text, flags=re.DOTALL)
    return re.sub(r"!?\[([^\]]*)\](\([^)]*\)|\[[^\]]*\])",
                  lambda found: found[1] + "\n" * found[2].count("\n"), text)


def sentences(text):
    for block in blocks(text):
        joined = plain("\n".join(line for _, line in block))
        at = 0
        for end in [*(found.end() for found in END.finditer(joined)), len(joined)]:
            said = joined[at:end]
            words = [word for word in said.split() if re.search(r"\w", word)]
            if words:
                before = joined[:at + len(said) - len(said.lstrip())]
                line = block[before.count("\n") + before.count(NEWLINE)][0]
                yield Sentence(line, len(words), re.sub(f"[{BLANK}{NEWLINE}]", " ", " ".join(said.split())))
            at = end


def median_of(found):
    return statistics.median(sentence.words for sentence in found)


def faults(name, found):
    median = median_of(found)
    said = [f"{name}: the median is {median:g} words, more than {MEDIAN}"] if median > MEDIAN else []
    return said + [f"{name}:{line}: {words} words, more than {LONGEST}: {text}"
                   for line, words, text in found if words > LONGEST]


class Sample(unittest.TestCase):
    """A page whose sentences are counted by hand."""

    PAGE = """# A heading of six words. Dropped

One two three. Four `code of many
words.` six,
seven eight! A [link of four](https://example.com/a. b) [here][there]?
<!-- A comment. It is dropped
on two lines. -->
A list begins here:

- **First.** Its second
  sentence; which goes on, e.g.: *so*.
- Item two – without an end

| a table. | is dropped. |
|---|---|

```sh
code. is dropped
```

    code: is dropped. Too

1. Version 1.5 of "it." Ends
"""

    def test_is_taken_apart(self):
        self.assertEqual([tuple(sentence) for sentence in sentences(self.PAGE)], [
            (3, 3, "One two three."),
            (3, 5, "Four `code of many words.` six, seven eight!"),
            (5, 5, "A link of four here?"),
            (8, 4, "A list begins here:"),
            (10, 1, "**First.**"),
            (10, 7, "Its second sentence; which goes on, e.g.:"),
            (11, 1, "*so*."),
            (12, 5, "Item two – without an end"),
            (23, 4, 'Version 1.5 of "it."'),
            (23, 1, "Ends"),
        ])

    def test_of_one_word_too_many_is_found(self):
        short = "One. Two. "
        for words, expected in ((LONGEST, []), (LONGEST + 1, [f"page:3: {LONGEST + 1} words, more than {LONGEST}: "])):
            long = "word " * (words - 1) + "end."
            found = list(sentences(f"{short}\n\n{long}\n"))
            self.assertEqual(faults("page", found), [fault + long for fault in expected])

    def test_whose_median_is_one_word_too_many_is_found(self):
        fault = f"page: the median is {MEDIAN + 1} words, more than {MEDIAN}"
        for words, expected in ((MEDIAN, []), (MEDIAN + 1, [fault])):
            middle, long = "word " * (words - 1) + "end. ", "word " * 20 + "end. "
            self.assertEqual(faults("page", list(sentences("One. " + middle + long))), expected)


class Pages(unittest.TestCase):
    def test_are_read_once(self):
        root = pathlib.Path(ARGUMENTS.root)
        wrong, pages = [], [root / "README.md", *sorted(root.glob("docs/**/*.md"))]
        self.assertGreater(len(pages), 10)
        for page in pages:
            name, found = page.relative_to(root), list(sentences(page.read_text(encoding="utf-8")))
            longest = max(sentence.words for sentence in found)
            print(f"{median_of(found):5g} median {longest:4} longest {len(found):5} sentences  {name}")
            wrong += faults(name, found)
        if wrong:
            self.fail("\n".join(["", *wrong]))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", required=True)
    rest = parser.parse_known_args(namespace=ARGUMENTS)[1]
    unittest.main(argv=[sys.argv[0], *rest])
