# SPDX-License-Identifier: Apache-2.0
# The examples of docs/clients.md in other languages: excerpts are compared with their programs.
"""Blocks for a shell are run by shell_blocks_test.py."""
import re
import unittest

from case import program, read
from limited import Limited
from stage import NAME


def examples():
    """What stands in the code blocks below a comment that names a program: (its name, the block)."""
    return re.findall(r"<!-- (tests/clients/\S+) -->\n```\w+\n(.*?)```\n", read("docs/clients.md"), re.DOTALL)


class Python(Limited):
    upstream = "    https: originate\n    tls: {{ ca: {ca} }}\n"

    def test_settings_of_programs_are_taken(self):
        for client in ("requests", "httpx", "urllib"):
            said = self.run_client(*program("by_setting.py"), client, f"http://{NAME}:{self.origin.port}/",
                                   self.proxy.url, variables={})
            self.assertEqual(said, b"hello\n")
        self.proxy.wait_for(3, "complete")


class Excerpts(unittest.TestCase):
    def test_are_lines_of_the_programs_in_their_order(self):
        found = examples()
        self.assertGreaterEqual(len(found), 6)
        for name, excerpt in found:
            rest = read(name)
            for line in excerpt.splitlines():
                code = line.partition("  # ")[0].strip()
                self.assertIn(code, rest, f"{name}: {line}")
                rest = rest[rest.index(code) + len(code):]
