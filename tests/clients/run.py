#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
# Real clients through the running proxy.
#   run.py --program=build/release/penstock --node=NODE [unittest's arguments, such as plain_test.Curl…]
"""A file of tests for each way to the upstream; a sentence for each thing that a client must be able to do."""
import argparse
import os
import sys
import unittest

import case

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True, type=os.path.abspath)
    parser.add_argument("--node", required=True)
    rest = parser.parse_known_args(namespace=case.ARGUMENTS)[1]
    unittest.main(module=None, argv=[sys.argv[0], *rest])
