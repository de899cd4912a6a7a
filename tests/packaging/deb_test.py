#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
# What is in the Debian package, read without installing it.
#   deb_test.py --root=. --build=build/release [unittest's arguments…]
"""The package is made anew, of a program that is built already."""
import argparse
import gzip
import os
import re
import subprocess
import sys
import tempfile
import unittest

ARGUMENTS = argparse.Namespace()


def run(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, check=True, **options).stdout


def words(text):
    return set(re.findall(r"[A-Za-z]{3,}", text))


class Deb(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="penstock-deb-")
        cls.addClassCleanup(folder.cleanup)
        cls.package = run("python3", "-B", os.path.join(ARGUMENTS.root, "lab/package/package.py"),
                          f"--build={ARGUMENTS.build}", f"--to={folder.name}").split()[0]
        cls.tree = os.path.join(folder.name, "tree")
        run("dpkg-deb", "--extract", cls.package, cls.tree)
        cls.program = cls.path("usr/bin/penstock")

    @classmethod
    def path(cls, name):
        return os.path.join(cls.tree, name)

    def manual(self, name):
        """As it is shown, on one long line for each paragraph."""
        path = self.path(f"usr/share/man/man{name[-1]}/{name}.gz")
        return run("man", "--no-hyphenation", "--no-justification", "--local-file", path,
                   env={**os.environ, "MANWIDTH": "1000", "LC_ALL": "C.UTF-8"})

    def commands(self):
        said = run(self.program, "--help")
        return re.findall(r"^  ([a-z]+) ", said[said.index("Subcommands:"):], re.MULTILINE)

    def test_lintian_finds_nothing(self):
        done = subprocess.run(["lintian", self.package], capture_output=True, text=True, check=False)
        self.assertEqual((done.stdout, done.returncode), ("", 0), done.stderr)

    def test_the_configuration_is_sound(self):
        path = self.path("etc/penstock/penstock.yaml")
        self.assertEqual(run(self.program, "check", path), f"{path}: ok\n")
        with open(path, encoding="utf-8") as file:
            schema = re.search(r"\$schema=/(\S+)", file.read()).group(1)
        self.assertTrue(os.path.exists(self.path(schema)), schema)

    def test_each_command_has_a_page_with_its_options_and_all_that_the_documents_say(self):
        with open(os.path.join(ARGUMENTS.root, "docs/command-line.md"), encoding="utf-8") as file:
            told = re.split(r"^## (.+)\n", file.read(), flags=re.MULTILINE)
        told = dict(zip(told[1::2], told[2::2]))
        for command in self.commands():
            shown = self.manual(f"penstock-{command}.1")
            for option in re.findall(r"--[a-z-]+", run(self.program, command, "--help")):
                self.assertIn(option, shown, command)
            text = re.sub(r"\]\([^)]*\)|^```\w*$", "", told[command], flags=re.MULTILINE)
            self.assertEqual(words(text) - words(shown), set(), command)

    def test_the_page_of_the_configuration_is_the_reference(self):
        with open(os.path.join(ARGUMENTS.root, "config/reference.yaml"), encoding="utf-8") as file:
            expected = [line.strip() for line in file if line.strip()]
        shown = [line.strip() for line in self.manual("penstock.yaml.5").splitlines()]
        self.assertEqual([line for line in expected if line not in shown], [])

    def test_names_what_is_compiled_into_the_program(self):
        with gzip.open(self.path("usr/share/doc/penstock/NOTICE.gz"), "rt", encoding="utf-8") as file:
            notice = file.read()
        self.assertRegex(notice, r"Files: llhttp/\*[^=]*\nCopyright: 2018-\d+ Fedor Indutny")
        self.assertIn("Permission is hereby granted, free of charge", notice)

    def offers(self, *typed):
        """What each shell offers for the last word, by name."""
        line = " ".join(["penstock", *typed])
        bash = run("bash", "-c", 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _penstock\n'
                   'printf "%s\\n" "${COMPREPLY[@]}"', "bash", self.path("usr/share/bash-completion/completions/penstock"),
                   "penstock", *typed)
        # _describe itself matches what is typed: here all that it is given is printed.
        zsh = run("zsh", "-f", "-c", '_describe() { print -rl -- ${(P)2} }\nfile=$1; shift; words=("$@"); CURRENT=$#\n'
                  'source $file', "zsh", self.path("usr/share/zsh/vendor-completions/_penstock"), "penstock", *typed)
        fish = run("fish", "--no-config", "-c", 'source $argv[1]; complete --do-complete $argv[2]',
                   self.path("usr/share/fish/vendor_completions.d/penstock.fish"), line)
        return {"bash": set(bash.split()),
                "zsh": {word for word in (row.split(":")[0] for row in zsh.splitlines()) if word.startswith(typed[-1])},
                "fish": {row.split("\t")[0] for row in fish.splitlines()}}

    def test_shells_complete_commands_and_options(self):
        for typed, expected in (
            (["e"], {"explain", "env", "exec"}),
            (["--v"], {"--version"}),
            (["ca", "i"], {"init"}),
            (["run", "--"], {"--help", "--config"}),
            (["ca", "path", "--c"], {"--config"}),
        ):
            self.assertEqual(self.offers(*typed), {shell: expected for shell in ("bash", "zsh", "fish")}, typed)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    for name in ("root", "build"):
        parser.add_argument(f"--{name}", required=True)
    rest = parser.parse_known_args(namespace=ARGUMENTS)[1]
    unittest.main(argv=[sys.argv[0], *rest])
