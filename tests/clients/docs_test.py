# SPDX-License-Identifier: Apache-2.0
# The examples of docs/clients.md: commands are run as they stand there, and excerpts are compared with their programs.
"""Only addresses are exchanged for those of the test."""
import os
import re
import unittest

from case import ARGUMENTS, program, read
from interception_test import Intercepted
from limited import Limited
from stage import NAME, Program


def examples(mark):
    """What stands in the code blocks below a comment: (its text, the block)."""
    return re.findall(rf"<!-- ({mark}) -->\n```\w+\n(.*?)```\n", read("docs/clients.md"), re.DOTALL)


class Commands(Limited):
    keep = False
    upstream = ("    https: originate\n    baseUrl: https://" + NAME + ":{port}\n    tls: {{ ca: {ca} }}\n")
    elsewhere = "access: {{ connectPorts: [{port}] }}"

    def test_are_run_as_they_stand(self):
        self.make_repository()
        blocks = [block for _, block in examples("tried as it is")]
        self.assertEqual(len(blocks), 2)
        for block in blocks:
            here = block.replace("http://127.0.0.1:3128", self.proxy.url)
            here = here.replace("//api.example.com/", f"//{NAME}:{self.origin.port}/")
            self.run_client("/bin/sh", "-eu", stdin=here.encode(), variables=self.identity.variables())
        self.assertEqual(self.folder.read("by-tunnel/big.bin"), self.folder.read("by-gateway/big.bin"))
        ended = self.proxy.wait_for(10, "complete")
        self.assertEqual(len(ended), len(self.origin.seen), "each went through the proxy, by a connection of its own")
        tunnels = [event for event in ended if "tunnel" in event]
        self.assertEqual((len(ended), len(tunnels)), (4 + 6, 1 + 3))

    def test_of_python_are_taken(self):
        for client in ("requests", "httpx", "urllib"):
            said = self.run_client(*program("by_setting.py"), client, f"http://{NAME}:{self.origin.port}/",
                                   self.proxy.url, variables={})
            self.assertEqual(said, b"hello\n")
        self.proxy.wait_for(3, "complete")


class Interception(Intercepted):
    """With the authority where it is without a word."""

    elsewhere = "access: {{ connectPorts: [{port}] }}"

    def start_proxy(self):
        self.proxy = Program(ARGUMENTS.program, self.folder.name, self.settings())

    def test_commands_are_run_as_they_stand(self):
        [(_, block)] = examples("tried with https: intercept")
        here = block.replace("//api.example.com/", f"//{NAME}:{self.origin.port}/")
        path = os.path.dirname(ARGUMENTS.program) + ":" + os.environ["PATH"]
        said = self.run_client("/bin/sh", "-eu", stdin=here.encode(), variables={"PATH": path})
        self.assertTrue(said.endswith(b"hello\n"))
        self.check_events(self.proxy.wait_for(1, "complete"), 1)


class Excerpts(unittest.TestCase):
    def test_are_lines_of_the_programs_in_their_order(self):
        found = examples(r"tests/clients/\S+")
        self.assertGreaterEqual(len(found), 6)
        for name, excerpt in found:
            rest = read(name)
            for line in excerpt.splitlines():
                code = line.partition("  # ")[0].strip()
                self.assertIn(code, rest, f"{name}: {line}")
                rest = rest[rest.index(code) + len(code):]
