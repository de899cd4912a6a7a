#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
# The Debian package in a bare Debian 12: installed by apt, used, and purged.
#   root_test.py --root=. --build=build/release --cache=build/roots [unittest's arguments…]
"""The bare root is kept as an archive in the cache, and unpacked anew. As root, or by sudo."""
import argparse
import http.client
import os
import re
import subprocess
import sys
import tempfile
import unittest

import image_test
import packaging_test

ARGUMENTS = argparse.Namespace()
AS_ROOT = image_test.AS_ROOT


def run(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:]
    return done.stdout


def archive():
    """Of a root file system with nothing but the essential packages. Half of one has another name."""
    path = os.path.join(ARGUMENTS.cache, image_test.SUITE + ".tar")
    if not os.path.exists(path):
        os.makedirs(ARGUMENTS.cache, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="penstock-bare-") as folder:
            run(*AS_ROOT, "debootstrap", "--variant=minbase", image_test.SUITE, folder + "/root", image_test.mirror())
            run(*AS_ROOT, "tar", "-C", folder + "/root", "-cf", path + ".half", ".")
            run(*AS_ROOT, "rm", "-rf", folder + "/root")
        run(*AS_ROOT, "mv", path + ".half", path)
    return path


class Root(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="penstock-root-")
        self.addCleanup(run, *AS_ROOT, "rm", "-rf", self.folder)
        run(*AS_ROOT, "tar", "-C", self.folder, "-xf", archive())

    def inside(self, *command):
        return [*AS_ROOT, "chroot", self.folder, "/usr/bin/env", "DEBIAN_FRONTEND=noninteractive", *command]

    def ours(self):
        return run(*self.inside("find", "/", "-xdev", "-name", "*penstock*", "-not", "-path", "/tmp/*")).split()

    def pass_a_request_on(self):
        config = "version: 1\nproxy: { listen: 127.0.0.1:0 }\nadmin: { listen: 127.0.0.1:0 }\n"
        run(*self.inside("sh", "-c", 'printf %s "$1" >/etc/penstock/penstock.yaml', "sh", config))
        daemon = subprocess.Popen(self.inside("penstock", "run", "--config", "/etc/penstock/penstock.yaml"),
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        try:
            port = int(re.search(r"listening on http://127\.0\.0\.1:(\d+)", daemon.stderr.readline()).group(1))
            with packaging_test.Origin() as origin:
                client = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
                client.request("GET", f"http://127.0.0.1:{origin.port}/")
                self.assertEqual(client.getresponse().status, 200)
                client.close()
        finally:
            subprocess.run([*AS_ROOT, "kill", str(daemon.pid)], check=False)
            daemon.communicate(timeout=60)
        self.assertEqual(daemon.returncode, 0)

    def test_is_installed_passes_a_request_on_and_leaves_nothing(self):
        package = run("python3", "-B", os.path.join(ARGUMENTS.root, "lab/package/package.py"),
                      f"--build={ARGUMENTS.build}", f"--to={self.folder}/tmp").split()[0]
        run(*self.inside("apt-get", "update"))
        run(*self.inside("apt-get", "install", "-y", "--no-install-recommends", "/tmp/" + os.path.basename(package)))
        self.pass_a_request_on()
        run(*self.inside("mkdir", "/var/lib/penstock", "/var/log/penstock"))  # as systemd makes them for the unit
        self.assertIn("/var/lib/penstock", self.ours())
        run(*self.inside("apt-get", "purge", "-y", "penstock"))
        self.assertEqual(self.ours(), [])


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    for name in ("root", "build", "cache"):
        parser.add_argument(f"--{name}", required=True)
    rest = parser.parse_known_args(namespace=ARGUMENTS)[1]
    ARGUMENTS.cache = os.path.abspath(ARGUMENTS.cache)
    unittest.main(argv=[sys.argv[0], *rest])
