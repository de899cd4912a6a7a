# SPDX-License-Identifier: Apache-2.0
# Root file systems with nothing but the essential packages of a release of Debian. For root_test.py and tarball_test.py.
"""Each is kept as an archive in a cache, and unpacked anew. As root, or by sudo."""
import http.client
import os
import re
import subprocess
import tempfile

import image_test

AS_ROOT = image_test.AS_ROOT

# Mounts go with the shell's own name space. The loader finds a library beside a program by /proc, which each container has.
INSIDE = """set -e
mount -t proc proc "$1/proc"
exec chroot "$@"
"""


def run(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:]
    return done.stdout


def archive(suite, cache):
    """Half of one has another name."""
    path = os.path.join(cache, suite + ".tar")
    if not os.path.exists(path):
        os.makedirs(cache, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="penstock-bare-") as folder:
            image_test.debootstrap(suite, folder + "/root", image_test.mirror())
            run(*AS_ROOT, "tar", "-C", folder + "/root", "-cf", path + ".half", ".")
            run(*AS_ROOT, "rm", "-rf", folder + "/root")
        run(*AS_ROOT, "mv", path + ".half", path)
    return path


class Bare:
    """A root file system. `case`, a test, removes it."""

    def __init__(self, case, suite, cache):
        self.folder = tempfile.mkdtemp(prefix="penstock-root-")
        case.addCleanup(run, *AS_ROOT, "rm", "-rf", self.folder)
        run(*AS_ROOT, "tar", "-C", self.folder, "-xf", archive(suite, cache))
        self.write("/etc/hosts", "127.0.0.1 localhost\n")
        self.write("/etc/apt/apt.conf.d/80retries", 'Acquire::Retries "5";\n')

    def inside(self, *command):
        return [*AS_ROOT, "unshare", "--mount", "sh", "-c", INSIDE, "sh", self.folder, "/usr/bin/env", "-i",
                "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND=noninteractive", *command]

    def run(self, *command):
        return run(*self.inside(*command))

    def write(self, path, text):
        self.run("sh", "-c", 'mkdir -p "${1%/*}" && printf %s "$2" >"$1"', "sh", path, text)

    def ours(self):
        return self.run("find", "/", "-xdev", "-name", "*penstock*", "-not", "-path", "/tmp/*").split()


class Daemon:
    """`penstock run` in a root, for a `with`: at the end it is told to end, and must do so in order."""

    def __init__(self, root, config):
        self.process = subprocess.Popen(root.inside("penstock", "run", "--config", config),
                                        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    def __enter__(self):
        said = self.process.stderr.readline()
        found = re.search(r"listening on http://127\.0\.0\.1:(\d+)", said)
        assert found, said + self.process.communicate(timeout=60)[1]
        self.port = int(found.group(1))
        return self

    def __exit__(self, *_):
        subprocess.run([*AS_ROOT, "kill", str(self.process.pid)], check=False)
        rest = self.process.communicate(timeout=60)[1]
        assert self.process.returncode == 0, rest

    def get(self, target, **headers):
        """Status and body."""
        client = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        client.request("GET", target, headers=headers)
        answer = client.getresponse()
        body = answer.read().decode()
        client.close()
        return answer.status, body
