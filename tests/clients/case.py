# SPDX-License-Identifier: Apache-2.0
# What all tests with real clients have in common: the stage around each test, and how a client is run on it.
"""Read by the test files; ARGUMENTS is filled by run.py."""
import argparse
import os
import subprocess
import unittest

from origin import Origin
from stage import PATIENCE, Folder, Proxy

HERE = os.path.dirname(os.path.abspath(__file__))
ARGUMENTS = argparse.Namespace()


def read(name):
    """A file of the project."""
    with open(os.path.join(os.path.dirname(os.path.dirname(HERE)), name), encoding="utf-8") as file:
        return file.read()


def program(name):
    """The command that runs a file of programs/ or node/. Those in Java and Go are compiled, to ARGUMENTS.classes."""
    base, kind = os.path.splitext(name)
    if kind == ".go":
        return (os.path.join(ARGUMENTS.classes, base),)
    if kind == ".java":
        return "java", "-XX:+UseSerialGC", "-classpath", ARGUMENTS.classes, base
    runners = {".py": "/usr/bin/python3", ".sh": "/bin/sh", ".rb": "ruby", ".pl": "perl", ".php": "php",
               ".mjs": ARGUMENTS.node}
    return runners[kind], os.path.join(HERE, "node" if kind == ".mjs" else "programs", name)


class Case(unittest.TestCase):
    """An origin, and a proxy that knows nothing of it."""

    def setUp(self):
        self.folder = Folder()
        self.addCleanup(self.folder.cleanup)
        self.start_origin()
        self.addCleanup(self.origin.stop)
        self.start_proxy()

    def start_origin(self):
        self.origin = Origin(self.folder.name)

    def start_proxy(self):
        self.proxy = Proxy(ARGUMENTS.program, self.folder.name, self.settings())
        self.addCleanup(self.stop_proxy)

    def settings(self):
        """Further lines of the proxy's configuration."""
        return ""

    def stop_proxy(self):
        code, said = self.proxy.stop()
        self.assert_sane(said)
        self.assertEqual(code, 0, said)

    def assert_sane(self, said):
        self.assertNotIn("Sanitizer", said)
        self.assertNotIn("runtime error", said)

    def variables(self):
        """What the environment of clients tells them."""
        return {"http_proxy": self.proxy.url, "HTTP_PROXY": self.proxy.url}

    def environment(self, variables=None):
        plain = {"PATH": os.environ["PATH"], "HOME": self.folder.name, "LC_ALL": "C.UTF-8",
                 "CACHE_DIRECTORY": self.folder.path("for-all")}
        more = self.variables() if variables is None else variables
        return plain | {name: value for name, value in more.items() if value is not None}

    def try_client(self, *command, variables=None, stdin=b""):
        return subprocess.run(command, input=stdin, env=self.environment(variables), cwd=self.folder.name,
                              capture_output=True, timeout=PATIENCE, check=False)

    def run_client(self, *command, **more):
        """Runs a client that must succeed; what it printed."""
        done = self.try_client(*command, **more)
        self.assertEqual(done.returncode, 0, f"{command}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
        return done.stdout

    def git(self, *arguments, **more):
        return self.run_client("git", "-c", "user.name=t", "-c", "user.email=t@t.test", "-c", "safe.directory=*",
                               *arguments, **more)

    def make_repository(self):
        """git/project.git, which the origin serves, with one commit of work/ in it; behind the proxy's back."""
        self.git("init", "--quiet", "--bare", "--initial-branch=main", "git/project.git", variables={})
        self.git("-C", "git/project.git", "config", "http.receivepack", "true", variables={})
        self.git("init", "--quiet", "--initial-branch=main", "work", variables={})
        self.folder.write("work/big.bin", os.urandom(3 * 1024 * 1024))
        self.git("-C", "work", "add", ".", variables={})
        self.git("-C", "work", "commit", "--quiet", "--message=first", variables={})
        self.git("-C", "work", "push", "--quiet", self.folder.path("git/project.git"), "main", variables={})
