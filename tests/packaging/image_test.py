#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
# What the Dockerfile ships, without Docker: Debian 12 with the packages of script/packages/run and nothing else, made by
# debootstrap, and in it the built program, which asks an https origin.
#   image_test.py --root=. --program=build/release/penstock --cache=build/image [unittest's arguments…]
"""The root file system stays in the cache, by a digest of the packages. As root, or by sudo."""
import argparse
import hashlib
import os
import re
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(os.path.dirname(HERE), "clients"))
import origin as clients  # noqa: E402
import stage  # noqa: E402

ARGUMENTS = argparse.Namespace()
SUITE = "bookworm"  # of debian:12
USER = "3128:3128"  # as the Dockerfile has it
BUNDLE = "etc/ssl/certs/ca-certificates.crt"
AS_ROOT = [] if os.geteuid() == 0 else ["sudo", "-n"]


def packages():
    with open(os.path.join(ARGUMENTS.root, "script/packages/run"), encoding="utf-8") as file:
        return [line.split()[0] for line in file if line.strip() and not line.startswith("#")]


def mirror():
    """Wherever this machine has its own packages from."""
    told = subprocess.run(["apt-get", "indextargets", "--format", "$(REPO_URI) $(CODENAME) $(COMPONENT)",
                           "Created-By: Packages"], capture_output=True, text=True, check=True).stdout
    return next(line.split()[0] for line in told.splitlines() if line.split()[1:] == [SUITE, "main"])


def debootstrap(*words):
    """Makes a root. A mirror that fails once is asked again."""
    wgetrc = os.path.join(os.path.dirname(os.path.dirname(HERE)), "lab/package/wgetrc")
    done = subprocess.run([*AS_ROOT, "env", f"WGETRC={wgetrc}", "debootstrap", "--variant=minbase", *words],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:]


def image():
    """The path of the root file system, which is made where it is not there yet. Half of one has another name."""
    wanted = packages()
    path = os.path.join(ARGUMENTS.cache, hashlib.sha256(" ".join([SUITE, *wanted]).encode()).hexdigest()[:16])
    if os.path.isdir(path):
        return path
    subprocess.run([*AS_ROOT, "rm", "-rf", ARGUMENTS.cache], check=True)  # of other packages
    os.makedirs(ARGUMENTS.cache)
    debootstrap(f"--include={','.join(wanted)}", SUITE, path + ".half", mirror())
    subprocess.run([*AS_ROOT, "mv", path + ".half", path], check=True)
    return path


# Mounts go with the shell's own name space; the file of hosts is one that Docker makes. $1 is the image, $2 the folder of the test, $3 the program, $4 a file of
# authorities in place of the image's, which must be there, and then a command for the program.
INSIDE = f"""set -e
mount --bind "$2" "$1/mnt"
mount --bind "$4" "$1/{BUNDLE}"
touch "$1/etc/hosts" "$1/usr/bin/penstock"
mount --bind "$2/hosts" "$1/etc/hosts"
mount --bind "$3" "$1/usr/bin/penstock"
image=$1
shift 4
exec chroot --userspec={USER} "$image" /usr/bin/penstock "$@"
"""


class Image(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="penstock-image-")
        self.addCleanup(self.folder.cleanup)
        self.image = image()
        self.identity = stage.Identity(self.path("identity"))
        self.origin = clients.Origin(self.folder.name, self.identity.tls)
        self.addCleanup(self.origin.stop)
        os.chmod(self.folder.name, 0o755)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def inside(self, *command, bundle):
        return subprocess.Popen(
            [*AS_ROOT, "unshare", "--mount", "sh", "-c", INSIDE, "sh", self.image, self.folder.name,
             os.path.abspath(ARGUMENTS.program), bundle, *command], stderr=subprocess.PIPE, text=True)

    def bundle(self):
        """The image's, and whoever has signed for the origin."""
        with open(os.path.join(self.image, BUNDLE), encoding="ascii") as own, open(self.identity.ca, encoding="ascii") as ours:
            text = own.read() + ours.read()
        with open(self.path("bundle.pem"), "w", encoding="ascii") as file:
            file.write(text)
        return self.path("bundle.pem")

    def configure(self):
        with open(self.path("hosts"), "w", encoding="ascii") as file:
            file.write("127.0.0.1 localhost\n")
        with open(self.path("penstock.yaml"), "w", encoding="utf-8") as file:
            file.write("version: 1\nproxy: { listen: 127.0.0.1:0 }\nadmin: { listen: 127.0.0.1:0 }\nlog: { events: off }\n"
                       f"upstreams: {{ origin: {{ match: [], baseUrl: 'https://localhost:{self.origin.port}' }} }}\n")

    def test_asks_an_https_origin(self):
        self.configure()
        daemon = self.inside("run", "--config", "/mnt/penstock.yaml", bundle=self.bundle())
        try:
            said = daemon.stderr.readline()
            url = re.search(r"listening on (http://127\.0\.0\.1:\d+)", said)
            self.assertTrue(url, said)
            answer = subprocess.run(["curl", "--silent", "--show-error", "--noproxy", "*", "--max-time", "30",
                                     "--write-out", "%{http_code}", url.group(1) + "/@origin/"],
                                    capture_output=True, text=True, check=False)
            self.assertEqual(answer.stdout, "hello\n200", answer.stderr)
        finally:
            subprocess.run([*AS_ROOT, "kill", str(daemon.pid)], check=False)
            rest = daemon.communicate(timeout=stage.PATIENCE)[1]
        self.assertEqual(daemon.returncode, 0, rest)
        self.assertNotIn(" error ", rest)

    def test_says_what_to_install_where_nobody_would_be_trusted(self):
        """As it was before ca-certificates came with it."""
        self.configure()
        with open(self.path("empty.pem"), "w", encoding="ascii"):
            pass
        ended = self.inside("run", "--config", "/mnt/penstock.yaml", bundle=self.path("empty.pem"))
        said = ended.communicate(timeout=stage.PATIENCE)[1]
        self.assertEqual(ended.returncode, 1, said)
        self.assertIn("/etc/ssl/certs/ca-certificates.crt is empty; install the package ca-certificates", said)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    for name in ("root", "program", "cache"):
        parser.add_argument(f"--{name}", required=True)
    rest = parser.parse_known_args(namespace=ARGUMENTS)[1]
    ARGUMENTS.cache = os.path.abspath(ARGUMENTS.cache)
    unittest.main(argv=[sys.argv[0], *rest])
