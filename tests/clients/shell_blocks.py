# SPDX-License-Identifier: Apache-2.0
# The shell blocks of README.md and docs/, and a machine on which they can be run as they stand: its /etc, its network,
# the names of the internet, and the programs on its PATH.
"""Used by shell_blocks_test.py; in namespaces of its own, see CMakeLists.txt."""
import contextlib
import functools
import glob
import os
import re
import shutil
import signal
import subprocess
from typing import NamedTuple

from case import ARGUMENTS, HERE, Case, read
from origin import Origin
from stage import PATIENCE, Folder, Identity, Proxy

ROOT = os.path.dirname(os.path.dirname(HERE))
ADDRESS = "93.184.215.14"  # a public one: a daemon reaches no other without being told
NAMES = ("example.com", "api.example.com", "api.partner.example", "api.github.com", "api.openai.com", "api.stripe.com")
SHELLS = ("bash", "console", "fish", "sh", "shell")
# An indented block is one for a shell if its first line begins with one of these. A prompt may stand before.
COMMANDS = re.compile(r"(?:\$ )?(?:penstock (?!\d)|(?:script|lab|build|\.)/|"
                      r"(?:apt|cat|cd|cmake|cp|ctest|curl|docker|eval|export|fish|g\+\+|git|jq|kill|make|mkdir|node|"
                      r"npm|pip|prometheus|promtool|python3?|sh|sudo|systemctl|systemd-\S+|unshare|wget) )")
BLOCK = re.compile(r"^```(?P<kind>\w*)\n(?P<fenced>.*?)^```$|(?<=\n\n)(?P<indented>(?: {4}[^\n]*\n|\n(?= {4}))+)",
                   re.MULTILINE | re.DOTALL)
INSTALLED = ("bash", "cat", "cp", "curl", "env", "fish", "git", "install", "java", "javac", "jq", "mkdir", "promtool", "rm",
             "sh", "sort", "touch", "uname", "uniq", "wget")
# What cannot be here: each writes down how it was called. Some do a small part of it.
STAND_INS = {"apt": "", "docker": "", "systemctl": "", "sudo": '"$@"',
             "program": "curl --silent https://api.example.com/",
             "prometheus": 'promtool check config "${1#--config.file=}"'}
PYTHON = ('import os, requests\n'
          'print(requests.get(os.environ.get("OPENAI_BASE_URL", "https://{0}/v1") + "/models").status_code)\n')
NODE = ('const answer = await fetch((process.env.OPENAI_BASE_URL ?? "https://api.example.com/v1") + "/models");\n'
        'console.log(answer.status);\n')


class Block(NamedTuple):
    page: str
    first: str    # its first line
    text: str
    yaml: str     # the last configuration above it on its page

    def output(self):
        """What a block that begins with a prompt says that its command prints."""
        return self.text.partition("\n")[2]


@functools.cache
def blocks(page):
    """Those for a shell, in order."""
    found, yaml = [], ""
    for match in BLOCK.finditer(read(page)):
        text = match["fenced"] or re.sub("^    ", "", match["indented"] or "", flags=re.MULTILINE)
        if match["kind"] == "yaml":
            yaml = text
        elif match["kind"] in SHELLS or (match["indented"] and COMMANDS.match(text)):
            found.append(Block(page, text.partition("\n")[0], text, yaml))
    return found


def pages():
    found = glob.glob(os.path.join(ROOT, "docs", "**", "*.md"), recursive=True)
    return ["README.md", *sorted(os.path.relpath(page, ROOT) for page in found)]


def find(page, first):
    """The one block of a page that begins so."""
    found = [block for block in blocks(page) if block.text.startswith(first)]
    assert len(found) == 1, f"{page} has {len(found)} blocks that begin with: {first}"
    return found[0]


def version_1(yaml):
    return yaml if yaml.startswith("version:") else "version: 1\n" + yaml


class Daemon(Proxy):
    """With a configuration as a page has it, so on the ports that pages speak of."""

    def __init__(self, config, yaml):
        self.binary, self.config, self.events_file = ARGUMENTS.program, config, config + ".events"
        with open(config, "w", encoding="utf-8") as file:
            file.write(f"{version_1(yaml)}\nlog: {{ events: {self.events_file} }}\n")
        self.start()


def run(*command):
    subprocess.run(command, check=True, capture_output=True)


class Machine(Folder):
    """What all tests of this process have in common. Lasts as long as the process's own namespaces."""

    def __init__(self):
        with open("/proc/self/uid_map", encoding="ascii") as file:
            assert file.read().split()[2] == "1", "this mounts over /etc: run it by unshare, as CMakeLists.txt does"
        super().__init__()
        self.identity = Identity(self.path("identity"), NAMES[0], ADDRESS, NAMES[1:])
        run("ip", "link", "set", "lo", "up")
        run("ip", "address", "add", f"{ADDRESS}/32", "dev", "lo")
        self.make_etc()
        shutil.copytree(os.path.join(ROOT, "config"), self.path("share/penstock/config"))
        for ours, theirs in (("etc", "/etc"), ("share", "/usr/local/share")):
            run("mount", "--bind", self.path(ours), theirs)

    def make_etc(self):
        """A copy, with names that lead to the tests' origin and their authority among those of the system."""
        subprocess.run(["cp", "-a", "/etc", self.path("etc")], check=False, capture_output=True)  # but for secrets
        self.write("etc/hosts", f"127.0.0.1 localhost\n{ADDRESS} {' '.join(NAMES)}\n".encode())
        authority = self.identity.openssl("x509", "-in", "ca.pem")
        name = self.identity.openssl("x509", "-in", "ca.pem", "-noout", "-hash").decode().strip()
        self.write(f"etc/ssl/certs/{name}.0", authority)
        with open(self.path("etc/ssl/certs/ca-certificates.crt"), "ab") as file:
            file.write(authority)
        shutil.rmtree(self.path("etc/penstock"), ignore_errors=True)
        for name in ("dashboards", "datasources"):
            os.makedirs(self.path(f"etc/grafana/provisioning/{name}"), exist_ok=True)

    def end(self):
        """In the order in which nothing of the real machine is ever removed."""
        for theirs in ("/usr/local/share", "/etc"):
            run("umount", theirs)
        self.cleanup()


class OnMachine(Case):
    """A folder, a home and an origin for each test. Of a checkout the folder has what pages name."""

    machine = None  # set once for all, in the module of the tests

    def start_origin(self):
        self.plain = Origin(self.folder.name, address=ADDRESS, port=80)
        self.addCleanup(self.plain.stop)
        self.origin = Origin(self.folder.name, self.machine.identity.tls, address=ADDRESS, port=443)

    def start_proxy(self):
        """Nothing runs but what a test starts. The folder is filled."""
        self.here, self.after = self.folder.path("here"), {}
        for name in ("home", "bin", "here/script", "here/build/release"):
            os.makedirs(self.folder.path(name))
        for name in INSTALLED:
            self.link(shutil.which(name, path="/usr/bin:/bin:/usr/local/bin"), f"bin/{name}")
        self.link(ARGUMENTS.program, "bin/penstock", "here/build/release/penstock")
        self.link(shutil.which(ARGUMENTS.node), "bin/node")
        self.link("/usr/bin/python3", "bin/python", "bin/python3")
        self.link(os.path.join(ROOT, "dashboards"), "here/dashboards")
        for name, does in STAND_INS.items():
            self.stand_in(f"bin/{name}", does)
        for name, content in (("app.py", PYTHON.format("api.openai.com")), ("job.py", PYTHON.format("api.stripe.com")),
                              ("app.mjs", NODE)):
            self.folder.write(f"here/{name}", content.encode())

    def link(self, target, *names):
        for name in names:
            os.symlink(target, self.folder.path(name))

    def uninstall(self, *names):
        for name in names:
            os.remove(self.folder.path(f"bin/{name}"))

    def stand_in(self, name, does=""):
        """A program that writes down its words in `calls`, and then does something small."""
        calls = self.folder.path("calls")
        self.folder.write(name, f'#!/bin/sh -e\necho "${{0##*/}} $*" >> {calls}\n{does}\n'.encode())
        os.chmod(self.folder.path(name), 0o755)

    def calls(self):
        return self.folder.read("calls").decode().splitlines()

    def start(self, yaml="", config=None):
        daemon = Daemon(config or self.folder.path("daemon.yaml"), yaml)
        self.addCleanup(self.stop, daemon)
        return daemon

    def stop(self, daemon):
        code, said = daemon.stop()
        self.assertEqual(code, 0, said)
        self.assert_sane(said)

    def tunnels(self, daemon, count):
        """Once so many requests are complete: of each, in the order in which they left, whether it was a tunnel. A tunnel
        ends only when the origin has closed its side too, and the next request may be complete before."""
        complete = daemon.wait_for(count, "complete")
        self.assertEqual(len(complete), count)
        left = daemon.wait_for(count, "dispatch")
        self.assertCountEqual([event["id"] for event in complete], [event["id"] for event in left])
        return [event.get("tunnel") for event in left]

    def environment(self, variables=None):
        quick = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"  # `penstock doctor` gives java ten seconds
        return {"PATH": self.folder.path("bin"), "HOME": self.folder.path("home"), "LC_ALL": "C.UTF-8", "PWD": self.here,
                "NODE_EXTRA_CA_CERTS": self.machine.identity.ca, "JDK_JAVA_OPTIONS": quick} | (variables or {})

    def command(self, text, shell="sh"):
        """Runs lines as a file, and then tells the variables that they left."""
        self.folder.write("block", text.encode())
        begin, options = (".", ["-e"]) if shell == "sh" else ("source", [])
        words = f"{begin} {self.folder.path('block')}; env -0 > {self.folder.path('after')}"
        return [shell, *options, "-c", words]

    def play(self, block, text=None, shell="sh", codes=(0,)):
        """Runs a block as it stands, or some lines of it; what it printed."""
        done = subprocess.run(self.command(text or block.text, shell), env=self.environment(), cwd=self.here,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE, check=False)
        self.said = done.stderr
        both = f"{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
        self.assertIn(done.returncode, codes, f"{block.page}:\n{block.text}\n{both}")
        self.assert_sane(done.stderr)
        if done.returncode == 0:
            self.after = dict(line.split("=", 1) for line in self.folder.read("after").decode().split("\0") if line)
        return done.stdout

    @contextlib.contextmanager
    def playing(self, block):
        """The shell that runs a block which ends only when it is told to."""
        with subprocess.Popen(self.command(block.text), env=self.environment(), cwd=self.here, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True) as shell:
            try:
                yield shell
                shell.communicate(timeout=PATIENCE)
                self.assertEqual(shell.returncode, 0)
            except BaseException:
                os.killpg(shell.pid, signal.SIGKILL)
                raise

    def config(self, yaml):
        self.folder.write("here/penstock.yaml", version_1(yaml).encode())

    def seen(self, origin=None):
        """What came to the origin that speaks TLS, or to another: (host, path, by whom)."""
        return [(fields["Host"], path, fields["Via"]) for _, path, fields in (origin or self.origin).seen]
