#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
# Real clients through the running proxy.
#   run.py --program=build/release/penstock --node=NODE --classes=FOLDER [--only=REGEX] [--but=REGEX]
#          [unittest's arguments, such as plain_test.Curl…]
"""A file of tests for each way to the upstream; a sentence for each thing that a client must be able to do. CTest runs a
class in parts, side by side: --only takes the tests whose name has a match of it, --but leaves those out."""
import argparse
import os
import re
import sys
import unittest

sys.path.append(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import machine  # noqa: E402
import case  # noqa: E402


class Part(unittest.TestLoader):
    def getTestCaseNames(self, testCaseClass):
        return [name for name in super().getTestCaseNames(testCaseClass)
                if re.search(case.ARGUMENTS.only, name) and not re.search(case.ARGUMENTS.but, name)]


class Program(unittest.TestProgram):
    def runTests(self):
        """Where no test is left over, none could fail either."""
        if not self.test.countTestCases():
            sys.exit(f"no test of {self.testNames} is of this part")
        super().runTests()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True, type=os.path.abspath)
    parser.add_argument("--node", required=True)
    parser.add_argument("--classes", required=True)
    parser.add_argument("--only", default="")
    parser.add_argument("--but", default="$.")  # nothing
    rest = parser.parse_known_args(namespace=case.ARGUMENTS)[1]
    machine.watch()
    Program(module=None, argv=[sys.argv[0], *rest], testLoader=Part())
