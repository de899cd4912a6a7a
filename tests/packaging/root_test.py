#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
# The Debian package in a bare Debian 12: installed by apt, used, and purged.
#   root_test.py --root=. --build=build/release --cache=build/roots [unittest's arguments…]
"""Debian 13 cannot install it: it has other versions of libhiredis, libspdlog and libyaml-cpp."""
import argparse
import os
import sys
import unittest

import bare
import packaging_test

ARGUMENTS = argparse.Namespace()
CONFIG = "/etc/penstock/penstock.yaml"


class Root(unittest.TestCase):
    def setUp(self):
        self.root = bare.Bare(self, "bookworm", ARGUMENTS.cache)

    def pass_a_request_on(self):
        self.root.write(CONFIG, "version: 1\nproxy: { listen: 127.0.0.1:0 }\nadmin: { listen: 127.0.0.1:0 }\n")
        with bare.Daemon(self.root, CONFIG) as daemon, packaging_test.Origin() as origin:
            self.assertEqual(daemon.get(f"http://127.0.0.1:{origin.port}/")[0], 200)

    def test_is_installed_passes_a_request_on_and_leaves_nothing(self):
        package = bare.run("python3", "-B", os.path.join(ARGUMENTS.root, "lab/package/package.py"),
                           f"--build={ARGUMENTS.build}", f"--to={self.root.folder}/tmp").split()[0]
        self.root.run("apt-get", "update")
        self.root.run("apt-get", "install", "-y", "--no-install-recommends", "/tmp/" + os.path.basename(package))
        self.pass_a_request_on()
        self.root.run("mkdir", "/var/lib/penstock", "/var/log/penstock")  # as systemd makes them for the unit
        self.assertIn("/var/lib/penstock", self.root.ours())
        self.root.run("apt-get", "purge", "-y", "penstock")
        self.assertEqual(self.root.ours(), [])


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    for name in ("root", "build", "cache"):
        parser.add_argument(f"--{name}", required=True)
    rest = parser.parse_known_args(namespace=ARGUMENTS)[1]
    ARGUMENTS.cache = os.path.abspath(ARGUMENTS.cache)
    unittest.main(argv=[sys.argv[0], *rest])
