#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
# The tarball in a bare Debian 12 and a bare Debian 13: unpacked, used with https, and removed. And what it says where the
# C library is too old.
#   tarball_test.py --root=. --build=build/release --cache=build/roots [unittest's arguments…]
import argparse
import glob
import os
import re
import subprocess
import sys
import tempfile
import unittest

import bare

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(os.path.dirname(HERE), "clients"))
import origin as clients  # noqa: E402
import stage  # noqa: E402

ARGUMENTS = argparse.Namespace()
CONFIG = "/etc/penstock.yaml"
BUNDLE = "/etc/ssl/certs/ca-certificates.crt"  # of Debian; and of Fedora, Alpine and SUSE:
OTHER_BUNDLES = ["/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem", "/etc/ssl/ca-bundle.pem"]
UPGRADE = {"Connection": "Upgrade", "Upgrade": "websocket"}  # is dialled by OpenSSL's hand, what else by libcurl's


class Tarball(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        made = tempfile.TemporaryDirectory(prefix="penstock-tarball-")
        cls.addClassCleanup(made.cleanup)
        bare.run("python3", "-B", os.path.join(ARGUMENTS.root, "lab/package/package.py"),
                 f"--build={ARGUMENTS.build}", f"--to={made.name}")
        cls.made = made.name
        cls.tarball = os.path.basename(glob.glob(f"{made.name}/*.tar.gz")[0])
        cls.home = "/opt/" + re.sub(r"_([^_]+)_linux-.*", r"-\1", cls.tarball)

    def unpacked_in(self, suite):
        root = bare.Bare(self, suite, ARGUMENTS.cache)
        bare.run(*bare.AS_ROOT, "cp", *glob.glob(self.made + "/*"), root.folder + "/tmp")
        root.run("sh", "-c", "cd /tmp && sha256sum --check --strict SHA256SUMS")
        root.run("tar", "-xzf", "/tmp/" + self.tarball, "-C", "/opt")
        root.run("ln", "-s", self.home + "/bin/penstock", "/usr/local/bin/penstock")
        return root

    def origin(self, root):
        """An https origin that the root's authorities vouch for, once they are there; the configuration leads to it."""
        folder = tempfile.TemporaryDirectory(prefix="penstock-origin-")
        self.addCleanup(folder.cleanup)
        identity = stage.Identity(folder.name)
        origin = clients.Origin(folder.name, identity.tls)
        self.addCleanup(origin.stop)
        with open(identity.ca, encoding="ascii") as file:
            root.write("/usr/local/share/ca-certificates/tests.crt", file.read())
        root.write(CONFIG, "version: 1\nproxy: { listen: 127.0.0.1:0 }\nadmin: { listen: 127.0.0.1:0 }\nlog: { events: off }\n"
                           f"upstreams: {{ origin: {{ match: [], baseUrl: 'https://localhost:{origin.port}' }} }}\n")

    def says_where_it_looked(self, root):
        ended = subprocess.run(root.inside("penstock", "run", "--config", CONFIG), capture_output=True, text=True, check=False)
        self.assertEqual(ended.returncode, 1)
        for place in (BUNDLE, *OTHER_BUNDLES):
            self.assertIn(place, ended.stderr)
        self.assertIn("install the package ca-certificates", ended.stderr)

    def asks_the_origin(self, root):
        with bare.Daemon(root, CONFIG) as daemon:
            for headers in ({}, UPGRADE):
                self.assertEqual(daemon.get("/@origin/", **headers), (200, "hello\n"))

    def lives(self, suite):
        root = self.unpacked_in(suite)
        self.assertRegex(root.run("penstock", "--version"), r"^penstock \d")
        self.origin(root)
        self.says_where_it_looked(root)
        root.run("apt-get", "update")
        root.run("apt-get", "install", "-y", "--no-install-recommends", "ca-certificates")
        self.asks_the_origin(root)
        there = BUNDLE
        for place in OTHER_BUNDLES:
            root.run("sh", "-c", 'mkdir -p "${2%/*}" && mv "$1" "$2"', "sh", there, place)
            self.asks_the_origin(root)
            there = place
        self.assertIn("http://127.0.0.1:", root.run("penstock", "exec", "--", "printenv", "http_proxy"))
        root.run("rm", "-r", "/usr/local/bin/penstock", self.home, CONFIG)
        self.assertEqual(root.ours(), [])

    def test_lives_and_leaves_nothing_in_debian_12(self):
        self.lives("bookworm")

    def test_lives_and_leaves_nothing_in_debian_13(self):
        self.lives("trixie")

    def first_line(self, root):
        ended = subprocess.run(root.inside("penstock", "--version"), capture_output=True, text=True, check=False)
        self.assertEqual((ended.returncode, ended.stdout), (126, ""))
        return ended.stderr.splitlines()[0]

    def test_says_first_where_the_c_library_is_too_old_or_another(self):
        root = self.unpacked_in("bookworm")
        for found in ("2.31", "2.9.90"):
            root.write("/usr/local/bin/getconf", f"#!/bin/sh\necho glibc {found}\n")
            root.run("chmod", "+x", "/usr/local/bin/getconf")
            self.assertRegex(self.first_line(root), rf"^penstock needs glibc 2\.\d+ or newer; this machine has {re.escape(found)}$")
        root.write("/usr/local/bin/getconf", "#!/bin/sh\nexit 1\n")  # as in Alpine
        self.assertRegex(root.run("penstock", "--version"), r"^penstock \d")
        root.run("touch", "/lib/ld-musl-x86_64.so.1")
        self.assertRegex(self.first_line(root), r"^penstock needs glibc 2\.\d+ or newer; this machine has musl$")

    def test_holds_a_licence_of_each_library_and_none_of_the_c_library(self):
        with tempfile.TemporaryDirectory(prefix="penstock-tarball-") as folder:
            bare.run("tar", "-xzf", f"{self.made}/{self.tarball}", "-C", folder, "--strip-components=1")
            with open(f"{folder}/share/doc/penstock/LIBRARIES", encoding="utf-8") as file:
                packages = [line.split()[0] for line in file]
            for package in packages:
                self.assertTrue(os.path.getsize(f"{folder}/share/doc/{package}/copyright"), package)
            self.assertEqual([name for name in os.listdir(f"{folder}/lib") if re.match(r"(ld-linux|libc\.|libm\.|libresolv)", name)], [])
            for path in (f"{folder}/libexec/penstock", *glob.glob(f"{folder}/lib/*")):
                self.assertIn("RUNPATH)", bare.run("readelf", "--dynamic", path))
                self.assertIn("[$ORIGIN/../lib]", bare.run("readelf", "--dynamic", path))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    for name in ("root", "build", "cache"):
        parser.add_argument(f"--{name}", required=True)
    rest = parser.parse_known_args(namespace=ARGUMENTS)[1]
    ARGUMENTS.cache = os.path.abspath(ARGUMENTS.cache)
    unittest.main(argv=[sys.argv[0], *rest])
