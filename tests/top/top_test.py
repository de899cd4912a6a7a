#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
# `penstock top` in a real terminal (tmux), against an admin port of the test's own whose status stands still.
#   top_test.py --program=build/test/penstock [--write] [unittest's arguments…]
# --write makes the pictures of this folder anew instead of comparing them.
"""Pictures, keys, and the terminal afterwards."""

import argparse
import json
import os
import pty
import re
import signal
import subprocess
import sys
import tempfile
import unittest

import stage
from stage import HERE, PATIENCE, until

ARGUMENTS = argparse.Namespace()
COLOUR = re.compile(r"\x1b\[(?:[0-9]+;)*(?:3|4|9|10)[0-7](?:;[0-9]+)*m")
ANY_TERMINAL = "screen-256color"


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="penstock-top-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.admin = stage.Admin()
        self.addCleanup(self.admin.close)
        self.command = [ARGUMENTS.program, "top", "--admin", self.admin.url]

    def terminal(self, columns=80, rows=24, environment=()):
        terminal = stage.Terminal(self.folder, columns, rows, environment)
        self.addCleanup(terminal.close)
        return terminal

    def opened(self, *sizes, environment=()):
        """A terminal in which top shows its first picture."""
        terminal = self.terminal(*sizes, environment=environment)
        terminal.run("clear; " + " ".join(self.command))
        terminal.shows("Enter details")
        return terminal

    def run_plain(self, *options, environment=(), admin=None):
        environment = {**os.environ, "LC_ALL": "C.UTF-8", "TERM": ANY_TERMINAL, **dict(environment)}
        command = [ARGUMENTS.program, "top", "--admin", admin or self.admin.url, *options]
        return subprocess.run(command, capture_output=True, env=environment, timeout=PATIENCE)

    def equals(self, name, shown):
        """`shown` gives the text, which may need a moment to become that of the file."""
        file = HERE / name
        if ARGUMENTS.write:
            file.write_text(shown(), encoding="utf-8")
        wanted = file.read_text(encoding="utf-8")
        until(lambda: shown() == wanted, lambda: f"{name}; it is\n{shown()}")


class Picture(Case):
    def test_of_80_by_24_equals_its_file(self):
        terminal = self.opened(80, 24)
        self.equals("screen_80x24.txt", terminal.picture)

    def test_of_200_by_50_equals_its_file(self):
        terminal = self.opened(200, 50)
        self.equals("screen_200x50.txt", terminal.picture)

    def test_of_details_equals_its_file(self):
        terminal = self.opened(80, 24)
        terminal.type("/")
        terminal.type("g", "i", "t", "h", "u", "b", "Enter")
        terminal.shows("/ filter: github")
        terminal.type("Enter")
        terminal.shows("Enter back")
        self.equals("details_80x24.txt", terminal.picture)

    def test_follows_the_size_of_the_terminal(self):
        terminal = self.opened(80, 24)
        terminal.resize(200, 50)
        self.equals("screen_200x50.txt", terminal.picture)
        terminal.resize(60, 20)
        terminal.shows("needs 80 x 24, this is 60 x 20")
        terminal.resize(80, 24)
        self.equals("screen_80x24.txt", terminal.picture)

    def test_has_no_colours_where_NO_COLOR_is_set(self):
        terminal = self.opened(80, 24)
        self.assertRegex(terminal.picture("-e"), COLOUR)
        terminal.type("q")
        terminal.await_prompt()
        terminal.run("clear; NO_COLOR=1 " + " ".join(self.command))
        terminal.shows("Enter details")
        self.assertNotRegex(terminal.picture("-e"), COLOUR)
        self.equals("screen_80x24.txt", terminal.picture)

    def test_is_of_ascii_where_the_locale_is(self):
        terminal = self.terminal(80, 24)
        terminal.run("clear; LC_ALL=C " + " ".join(self.command))
        terminal.shows("Enter details")
        picture = terminal.picture()
        self.assertTrue(picture.isascii(), picture)
        self.assertRegex(picture, r"github +#\.\.\.\.\.\.\. +24/200")

    def test_of_hostile_names_leaves_title_and_colours_alone(self):
        terminal = self.opened(80, 24)
        terminal.shows("xn--�]0;title�.ex")
        self.assertNotIn("title", terminal.tmux("display-message", "-p", "#{pane_title}"))


class Keys(Case):
    @staticmethod
    def order(picture):
        return re.findall(r"^[› ](github|openai|stripe|\*\.corp)\b", picture, re.MULTILINE)

    def test_sort_the_rows(self):
        terminal = self.opened()
        orders = []
        for name in ("waiting", "rate", "name", "waiting"):
            terminal.shows(f"s sort: {name}")
            orders.append(self.order(terminal.picture()))
            terminal.type("s")
        self.assertEqual(orders, [["openai", "stripe", "github", "*.corp"], ["github", "stripe", "openai", "*.corp"],
                                  ["*.corp", "github", "openai", "stripe"], ["openai", "stripe", "github", "*.corp"]])

    def test_filter_by_name_and_by_what_is_happening(self):
        terminal = self.opened()
        terminal.type("/")
        terminal.type("P", "a", "u", "s", "e", "d")
        until(lambda: self.order(terminal.picture()) == ["stripe"], terminal.picture)
        terminal.type("Escape")
        until(lambda: len(self.order(terminal.picture())) == 4, terminal.picture)
        terminal.type("/")
        terminal.type("q", "x", "BSpace", "BSpace", "c", "o", "r", "p", "Enter")
        terminal.shows("/ filter: corp, 1 of 6  Enter details  p hold")
        self.assertEqual(self.order(terminal.picture()), ["*.corp"])

    def test_open_the_details_of_the_selected_row(self):
        terminal = self.opened()
        terminal.shows("›openai")
        terminal.type("Down")
        terminal.shows("›stripe")
        terminal.type("j")
        terminal.shows("›github")
        terminal.type("k")
        terminal.shows("›stripe")
        terminal.type("Enter")
        terminal.shows("last minute   720 out · their 429s: 218")
        terminal.type("Escape")
        terminal.shows("›stripe")

    def test_hold_what_is_shown(self):
        terminal = self.opened()
        terminal.type("p")
        terminal.shows("HELD STILL")
        self.admin.told["connections"] = 4242
        self.admin.wait_for_polls(3)
        self.assertIn("clients 137 ", terminal.picture())
        terminal.type("p")
        terminal.shows("clients 4 242")
        self.assertNotIn("HELD", terminal.picture())

    def test_show_their_help(self):
        terminal = self.opened()
        terminal.type("?")
        terminal.shows("hold still what is shown")
        self.assertNotIn("…", terminal.picture(), "80 columns have room for all of it")
        terminal.type("x")
        terminal.shows("Enter details")


class Afterwards(Case):
    """The shell finds its terminal as it was: settings, screen, cursor."""

    def begin(self):
        terminal = self.terminal()
        self.before = terminal.answer_of("stty -g")
        self.assertRegex(self.before, r"^[0-9a-f:]+$")
        self.assertEqual(terminal.state(), "0 1 1")
        terminal.run("clear; " + " ".join(self.command) + "; echo code $?")
        terminal.shows("Enter details")
        self.assertEqual(terminal.state(), "1 0 0")
        return terminal

    def is_as_before(self, terminal):
        self.assertEqual(terminal.state(), "0 1 1")
        self.assertEqual(terminal.answer_of("stty -g"), self.before)

    def ends(self, terminal, code):
        terminal.shows(f"code {code}")
        self.is_as_before(terminal)

    def pid(self):
        found = subprocess.run(["pgrep", "-f", " ".join(self.command)], capture_output=True, text=True, check=True)
        return int(found.stdout.split()[0])

    def test_q(self):
        terminal = self.begin()
        terminal.type("q")
        self.ends(terminal, 0)

    def test_ctrl_c(self):
        terminal = self.begin()
        terminal.type("C-c")
        self.ends(terminal, 128 + signal.SIGINT)

    def is_back(self, terminal):
        until(lambda: terminal.state() == "0 1 1", "the shell's screen")
        terminal.await_prompt()
        self.is_as_before(terminal)

    def test_sigterm(self):
        terminal = self.begin()
        os.kill(self.pid(), signal.SIGTERM)
        self.ends(terminal, 128 + signal.SIGTERM)

    def test_ctrl_z_and_what_comes_after_it(self):
        terminal = self.begin()
        terminal.type("C-z")
        self.is_back(terminal)
        terminal.run("clear; fg")
        until(lambda: terminal.state() == "1 0 0", "the screen of top again")
        self.equals("screen_80x24.txt", terminal.picture)
        terminal.type("q")
        self.is_back(terminal)

    def test_q_while_an_answer_does_not_end(self):
        terminal = self.begin()
        self.admin.endless.set()
        self.admin.wait_for_polls(1)
        terminal.shows("no answer yet; what is shown is")
        terminal.type("q")
        self.ends(terminal, 0)


class Daemon(Case):
    def test_that_goes_away_is_told_of_until_it_is_back(self):
        terminal = self.opened()
        self.admin.leave()
        until(lambda: re.search(rf"NO ANSWER: 127\.0\.0\.1:{self.admin.port}: Connection refused; what is shown is "
                                r"[2-9]\.\d s old", terminal.picture()), terminal.picture)
        self.assertIn("24/200", terminal.picture())
        self.admin.told["connections"] = 4242
        self.admin.come_back()
        terminal.shows("clients 4 242")
        self.assertNotIn("NO ANSWER", terminal.picture())

    def test_that_is_not_there_at_the_start_ends_the_command(self):
        self.admin.leave()
        for options in ([], ["--once"], ["--json"]):
            ended = self.run_plain(*options)
            self.assertEqual(ended.returncode, 1)
            self.assertEqual(ended.stdout, b"")
            self.assertRegex(ended.stderr, rb"^penstock: 127\.0\.0\.1:\d+: Connection refused; is this the admin port of ")
        self.admin.come_back()

    def test_that_is_another_server_is_named(self):
        self.admin.raw = b"<html>\x1b[31m"
        ended = self.run_plain("--once")
        self.assertEqual(ended.returncode, 1)
        self.assertRegex(ended.stderr, rb"what it says is no /status")
        self.assertNotIn(b"\x1b", ended.stderr)


class Lines(Case):
    def test_once_has_no_escape_codes(self):
        ended = self.run_plain("--once")
        self.assertEqual((ended.returncode, ended.stderr), (0, b""))
        self.assertNotRegex(ended.stdout, rb"[\x00-\x09\x0b-\x1f\x7f]")
        self.equals("once.txt", lambda: ended.stdout.decode())

    def test_once_on_a_terminal_has_none_either(self):
        terminal = self.terminal(200, 50)
        terminal.run("clear; " + " ".join(self.command) + " --once")
        once = (HERE / "once.txt").read_text(encoding="utf-8")
        until(lambda: terminal.picture().startswith(once), terminal.picture)
        self.assertNotRegex(terminal.picture("-e"), "\x1b")

    def test_come_again_and_again_where_there_is_no_terminal(self):
        command = subprocess.Popen(self.command, stdout=subprocess.PIPE, text=True, encoding="utf-8",
                                   env={**os.environ, "LC_ALL": "C.UTF-8", "TERM": ANY_TERMINAL})
        with command:
            heads = 0
            while heads < 2:
                line = command.stdout.readline()
                self.assertTrue(line, "it ended")
                heads += " ● ready" in line
            command.terminate()
            command.communicate(timeout=PATIENCE)

    def test_are_what_a_dumb_terminal_gets(self):
        ours, its = pty.openpty()
        environment = {**os.environ, "LC_ALL": "C.UTF-8", "TERM": "dumb"}
        with subprocess.Popen(self.command, stdin=its, stdout=its, env=environment) as command:
            text = b""
            while text.count(b"ready") < 2:
                text += os.read(ours, 4096)
            command.terminate()
            command.wait(timeout=PATIENCE)
        os.close(ours)
        os.close(its)
        self.assertNotIn(b"\x1b", text)

    def test_of_json_are_the_status_itself(self):
        ended = self.run_plain("--once", "--json")
        self.assertEqual(ended.returncode, 0)
        self.assertEqual(ended.stdout.count(b"\n"), 1)
        self.assertTrue(ended.stdout.isascii())
        self.assertNotRegex(ended.stdout, rb"[\x00-\x09\x0b-\x1f\x7f]")
        self.assertEqual(json.loads(ended.stdout), self.admin.told)

    def test_of_bytes_that_are_no_utf8_are_harmless(self):
        self.admin.raw = b'{"upstreams":[{"name":"a\xff\xc2\x9b31mb\x7f","pending":1}]}'
        ended = self.run_plain("--once")
        self.assertEqual(ended.returncode, 0)
        self.assertIn("a��31mb�", ended.stdout.decode())


class Documents(unittest.TestCase):
    def test_show_the_pictures_of_the_test(self):
        for document, title, picture in (("command-line.md", "top", "screen_80x24.txt"),
                                         ("seeing.md", "In a terminal", "details_80x24.txt")):
            page = (HERE.parents[1] / "docs" / document).read_text(encoding="utf-8")
            shown = re.search(rf"^## {title}$.*?^```text\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)[1]
            drawn = (HERE / picture).read_text(encoding="utf-8")
            self.assertEqual(shown, re.sub(r"\n{2,}(?= (?:q quit|Enter back))", "\n", drawn))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--write", action="store_true")
    rest = parser.parse_known_args(namespace=ARGUMENTS)[1]
    ARGUMENTS.program = os.path.abspath(ARGUMENTS.program)
    unittest.main(argv=[sys.argv[0], *rest])
