# SPDX-License-Identifier: Apache-2.0
"""The proxies that are compared, each from its template in peers/, and the programs that measure them.
For the programs of this folder only."""

import dataclasses
import os
import pathlib
import pwd
import re
import shutil
import subprocess
import tempfile

from processes import Failed, Process, Server, free_port, until

PEERS = pathlib.Path(__file__).resolve().parent / "peers"
ANSWER_BYTES = 1024
AS_ROOT = "" if os.geteuid() == 0 else "# not root: "
NGINX = ["-p", "DIRECTORY", "-c", "CONFIG", "-e", "DIRECTORY/error.log"]


@dataclasses.dataclass(frozen=True)
class Recipe:
    name: str
    template: str
    arguments: list  # CONFIG, DIRECTORY and NAME are filled in
    version: list    # what to ask the program for its version
    lines: int = 1   # in its log for each request
    tls: str = ""    # what its configuration needs for an origin over TLS; CA is filled in


RECIPES = {recipe.name: recipe for recipe in (
    Recipe("Penstock", "penstock.yaml", ["run", "--config", "CONFIG"], ["--version"], lines=2,
           tls="https: originate\n    tls: { ca: \"@CA@\" }"),
    Recipe("nginx", "nginx.conf", NGINX, ["-v"],
           tls="proxy_ssl_verify on; proxy_ssl_trusted_certificate @CA@; proxy_ssl_name @NAME@; "
               "proxy_ssl_server_name on; proxy_ssl_protocols TLSv1.2 TLSv1.3;"),
    Recipe("HAProxy", "haproxy.cfg", ["-db", "-f", "CONFIG"], ["-v"],
           tls="ssl verify required ca-file @CA@ sni str(@NAME@) verifyhost @NAME@"),
    Recipe("Squid", "squid.conf", ["-N", "-n", "NAME", "-f", "CONFIG"], ["-v"]),
    Recipe("mitmproxy", "mitmproxy.yaml", ["--set", "confdir=DIRECTORY"], ["--version"], lines=2),
)}
PROGRAMS = {"mitmproxy": "mitmdump"}  # the others have the name of their proxy
TO_STDOUT = ["HAProxy", "mitmproxy"]  # they write no files: their log is their standard output
# HAProxy cannot be asked by CONNECT: it leads whoever connects to the far end.
TUNNEL_RECIPES = {"Penstock": RECIPES["Penstock"],
                  "HAProxy": dataclasses.replace(RECIPES["HAProxy"], template="haproxy_tcp.cfg"),
                  "Squid": RECIPES["Squid"]}


@dataclasses.dataclass(frozen=True)
class Bench:
    """Where the programs are, and which cores they get."""
    build: pathlib.Path
    proxy_core: int = 0
    load_core: int = 1

    def program_of(self, name):
        if name == "Penstock":
            found = shutil.which(self.build / "penstock")
        else:
            found = shutil.which(PROGRAMS.get(name, name.lower()), path=os.environ.get("PATH", "") + ":/usr/sbin")
        if not found:
            raise Failed(f"{name} is not there; script/bench builds Penstock, script/setup bench installs the others")
        return found

    def version_of(self, name):
        said = subprocess.run([self.program_of(name), *RECIPES[name].version], capture_output=True, text=True)
        return re.search(r"\d+(\.\d+)+", said.stdout + said.stderr).group()

    def origin(self):
        return Origin(self)

    def load(self, mode, port, origin, clients, *times):
        words = [mode, port, origin.port, ANSWER_BYTES, clients, *times]
        return Process([str(self.build / "lab/bench/bench_load"), *map(str, words)], self.load_core)

    def proxy(self, name, origin, max_concurrent=256, recipes=None):
        return Proxy(self, (recipes or RECIPES)[name], origin, max_concurrent)

    def far_end(self):
        return FarEnd(self)


class Origin(Process):
    tls = None  # it speaks none

    def __init__(self, bench):
        super().__init__([str(bench.build / "lab/bench/bench_origin"), str(ANSWER_BYTES)], bench.load_core)
        self.port = int(self.line().removeprefix("port "))

    def seen(self):
        """Ends it; what it counted, by name."""
        words = self.last_words().split()
        return dict(zip(words[::2], map(int, words[1::2])))


class FarEnd(Process):
    """Where tunnels lead, and who opens them."""
    tls = None

    def __init__(self, bench):
        super().__init__([str(bench.build / "lab/bench/bench_tunnels")], bench.load_core)
        self.port = int(self.line().removeprefix("port "))


def filled(template, values):
    """The text with what belongs between its @s, and between those of that."""
    def value(found):
        return filled(str(values[found.group(1)]), values)

    return re.sub("@([A-Z_]+)@", value, template)


class Proxy(Server):
    """One of the proxies, with a directory of its own, listening when the constructor returns."""

    def __init__(self, bench, recipe, origin, max_concurrent):
        self.recipe = recipe
        self.port, self.admin_port = free_port(), free_port()
        self.directory = tempfile.mkdtemp(prefix=f"bench-{recipe.name.lower()}-")
        self._let_squid_in()
        config = self._write_config(origin, max_concurrent)
        # Squid names its shared memory after itself: one that was killed would be in the way of the next.
        places = {"CONFIG": config, "DIRECTORY": self.directory, "NAME": f"bench{self.port}"}
        arguments = [re.sub("|".join(places), lambda found: places[found.group()], word) for word in recipe.arguments]
        with open(f"{self.directory}/{'access.log' if recipe.name in TO_STDOUT else 'stdout'}", "a") as stdout, \
                open(f"{self.directory}/stderr", "w") as stderr:
            super().__init__([bench.program_of(recipe.name), *arguments], bench.proxy_core, stdout, stderr)
        self.await_listening()
        until(lambda: os.path.exists(f"{self.directory}/access.log"), f"{recipe.name} to open its log")

    def empty_log(self):
        os.truncate(f"{self.directory}/access.log", 0)

    def log_lines(self):
        with open(f"{self.directory}/access.log", "rb") as log:
            return sum(block.count(b"\n") for block in iter(lambda: log.read(1 << 20), b""))

    def end(self):
        super().end()
        shutil.rmtree(self.directory, ignore_errors=True)

    def _write_config(self, origin, max_concurrent):
        values = {"PORT": self.port, "ADMIN_PORT": self.admin_port, "ORIGIN_PORT": origin.port,
                  "DIRECTORY": self.directory, "MAX_CONCURRENT": max_concurrent, "AS_ROOT": AS_ROOT,
                  "SCHEME": "https" if origin.tls else "http", "TLS": self.recipe.tls if origin.tls else "",
                  **(origin.tls or {})}
        template = (PEERS / self.recipe.template).read_text(encoding="utf-8")
        config = pathlib.Path(self.directory, self.recipe.template)
        config.write_text(filled(template, values), encoding="utf-8")
        self.prepare(values)
        return str(config)

    def prepare(self, values):
        """What else must be there before it starts, beside its configuration."""

    def _let_squid_in(self):
        """Squid refuses to be root: it becomes Debian's user `proxy` and writes its logs as that."""
        os.chmod(self.directory, 0o755)
        if os.geteuid() == 0 and self.recipe.name == "Squid":
            shutil.chown(self.directory, pwd.getpwnam("proxy").pw_uid)

    def said(self):
        files = [pathlib.Path(self.directory, name) for name in ("stderr", "stdout", "error.log", "cache.log")]
        return "\n".join(file.read_text(errors="replace")[-2000:] for file in files if file.exists()).strip()
