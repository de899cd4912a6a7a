#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
# What is shipped: the lists of script/packages against the built program, and the Dockerfile against both.
#   packaging_test.py --root=. --program=build/release/penstock [unittest's arguments…]
"""No Docker engine is needed: what can go out of step is read, not run."""
import argparse
import json
import os
import re
import subprocess
import sys
import unittest

ARGUMENTS = argparse.Namespace()


def read(name):
    with open(os.path.join(ARGUMENTS.root, name), encoding="utf-8") as file:
        return file.read()


def listed(task):
    """The packages of a list."""
    lines = read(f"script/packages/{task}").splitlines()
    return [line.split()[0] for line in lines if line.strip() and not line.startswith("#")]


def needed_libraries(program):
    """The names of the shared libraries that a program asks for itself."""
    said = subprocess.run(["readelf", "--dynamic", program], capture_output=True, text=True, check=True).stdout
    return re.findall(r"\(NEEDED\).*\[(.+)\]", said)


def owner(library):
    """The package that brings a library, by the file that the loader would take."""
    cache = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=True).stdout
    path = re.search(rf"^\s*{re.escape(library)} .*=> (/\S+)$", cache, re.MULTILINE).group(1)
    for candidate in (path, os.path.realpath(path), path.removeprefix("/usr"), "/usr" + path):
        found = subprocess.run(["dpkg-query", "--search", candidate], capture_output=True, text=True, check=False)
        if found.returncode == 0:
            return found.stdout.split(":")[0]
    raise AssertionError(f"no package owns {path}")


def run_setup(*lists):
    return subprocess.run([os.path.join(ARGUMENTS.root, "script/setup"), *lists], capture_output=True, check=False)


class Packages(unittest.TestCase):
    def test_lists_are_sorted_and_name_nothing_twice(self):
        for task in ("run", "build", "test", "bench", "format"):
            self.assertEqual(listed(task), sorted(set(listed(task))), task)

    def test_lists_share_nothing_with_what_they_include(self):
        for task in ("test", "bench"):
            self.assertEqual(set(listed("build")) & set(listed(task)), set(), task)

    def test_the_run_list_is_what_the_program_is_linked_to(self):
        # Sanitizers and the like are this build's, not the program's; the loader comes with the C library.
        ours = [name for name in needed_libraries(ARGUMENTS.program) if not re.match(r"(lib(asan|ubsan|tsan)|ld-linux)\W", name)]
        self.assertEqual({owner(name) for name in ours}, set(listed("run")))

    def test_setup_says_nothing_where_nothing_is_missing(self):
        done = run_setup("run", "build")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"", b""))

    def test_setup_refuses_a_list_that_does_not_exist(self):
        done = run_setup("nonsense")
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"usage: script/setup", done.stderr)


def instructions(text):
    """The Dockerfile's instructions as (word, rest), continued lines joined."""
    joined = re.sub(r"\\\n", " ", text)
    lines = [line.strip() for line in joined.splitlines()]
    return [tuple(line.split(None, 1)) for line in lines if line and not line.startswith("#")]


class Dockerfile(unittest.TestCase):
    def setUp(self):
        self.lines = instructions(read("Dockerfile"))
        split = max(at for at, (word, _) in enumerate(self.lines) if word == "FROM")
        self.build, self.ship = self.lines[:split], self.lines[split:]

    def said(self, stage, word):
        return [rest for name, rest in stage if name == word]

    def test_has_two_stages_of_debian_12(self):
        self.assertEqual(self.said(self.lines, "FROM"), ["debian:12 AS build", "debian:12-slim"])

    def test_installs_by_script_setup_and_by_nothing_else(self):
        self.assertIn("script/setup build", self.said(self.build, "RUN"))
        self.assertTrue(any("script/setup run" in run for run in self.said(self.ship, "RUN")))
        self.assertNotRegex(read("Dockerfile"), r"apt(-get)? +(-\S+ +)*install")

    def test_runs_as_nobody_in_particular(self):
        user = self.said(self.ship, "USER")[-1]
        self.assertRegex(user, r"^[1-9]\d*:[1-9]\d*$")
        self.assertIn(f"--uid {user.split(':')[0]} ", " ".join(self.said(self.ship, "RUN")))

    def test_runs_the_configuration_of_containers(self):
        self.assertIn("config/container.yaml /etc/penstock/penstock.yaml", self.said(self.ship, "COPY"))
        command = json.loads(self.said(self.ship, "ENTRYPOINT")[0]) + json.loads(self.said(self.ship, "CMD")[0])
        self.assertEqual(command, ["penstock", "run", "--config", "/etc/penstock/penstock.yaml"])

    def test_exposes_the_ports_of_that_configuration(self):
        ports = re.findall(r"listen: 0\.0\.0\.0:(\d+)", read("config/container.yaml"))
        self.assertEqual(len(ports), 2)
        self.assertEqual(self.said(self.ship, "EXPOSE"), [" ".join(ports)])

    def test_drains_on_stop_and_can_be_asked_for_its_health(self):
        self.assertEqual(self.said(self.ship, "STOPSIGNAL"), ["SIGTERM"])
        check = self.said(self.ship, "HEALTHCHECK")[0]
        command = json.loads(check[check.index("["):])
        self.assertEqual(command[:2], ["penstock", "healthcheck"])
        helped = subprocess.run([ARGUMENTS.program, "healthcheck", "--help"], capture_output=True, text=True, check=True)
        self.assertIn(command[2], helped.stdout)

    def test_copies_only_what_the_ignore_file_lets_through(self):
        let_through = [line[1:] for line in read(".dockerignore").splitlines() if line.startswith("!")]
        for rest in self.said(self.lines, "COPY"):
            for source in rest.split()[:-1]:
                if not source.startswith("--from") and not source.startswith("/src") and source != ".":
                    self.assertIn(source.split("/")[0], let_through, source)
        for part in let_through:
            self.assertTrue(os.path.exists(os.path.join(ARGUMENTS.root, part)), part)

    def test_the_configuration_is_valid(self):
        path = os.path.join(ARGUMENTS.root, "config/container.yaml")
        done = subprocess.run([ARGUMENTS.program, "check", path], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", required=True)
    parser.add_argument("--program", required=True)
    rest = parser.parse_known_args(namespace=ARGUMENTS)[1]
    unittest.main(argv=[sys.argv[0], *rest])
