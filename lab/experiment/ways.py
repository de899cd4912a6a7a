# SPDX-License-Identifier: Apache-2.0
"""The ways to Redis: plain, TLS, by Sentinel, a Cluster; with what may happen to each while limits are in use. Each is
used in a `with`. For the programs of this folder only."""

import pathlib
import shutil
import subprocess
import tempfile
import time

from processes import Failed, Server, free_port
from stage import CORES, Redis, program

SLOTS = 16384


def eventually(what, condition, seconds=20):
    until = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > until:
            raise Failed(f"not within {seconds} s: {what}")
        time.sleep(0.02)


class Disturbed(Failed):
    """A server was slow to answer, and the others have replaced it before anything was done to it."""


class Plain:
    """`events`: (seconds after the load began, what it is called, what is done)."""
    name = "plain"
    events = ()

    def __init__(self):
        self._directory = tempfile.mkdtemp(prefix="experiment-way-")
        self.servers = []
        try:
            self.set_up()
        except BaseException:
            self.__exit__()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for server in self.servers:
            server.__exit__()
        shutil.rmtree(self._directory, ignore_errors=True)

    def set_up(self):
        self.add()

    def add(self, *options):
        self.servers.append(Redis(options))
        return self.servers[-1]

    def keys(self):
        """For `redis` of the configuration."""
        return f'url: "redis://127.0.0.1:{self.servers[0].port}"'

    def calls(self):
        return sum(server.cost().calls for server in self.servers)

    def upstreams(self, count):
        """Names for that many upstreams, whose keys lie on all nodes."""
        return [f"u{number}" for number in range(count)]


class Tls(Plain):
    name = "TLS"

    def set_up(self):
        key, certificate = f"{self._directory}/key.pem", f"{self._directory}/certificate.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                        "-keyout", key, "-out", certificate, "-subj", "/CN=redis", "-days", "2",
                        "-addext", "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
        self._port, self._certificate = free_port(), certificate
        self.add("--tls-port", str(self._port), "--tls-cert-file", certificate, "--tls-key-file", key,
                 "--tls-ca-cert-file", certificate, "--tls-auth-clients", "no")

    def keys(self):
        return f'url: "rediss://127.0.0.1:{self._port}", tls: {{ ca: "{self._certificate}" }}'


class SentinelServer(Server):
    def __init__(self, directory, number, master):
        self.port = free_port()
        path = pathlib.Path(directory, f"sentinel-{number}.conf")
        path.write_text(f"port {self.port}\nbind 127.0.0.1\ndir {directory}\n"
                        f"sentinel monitor mymaster 127.0.0.1 {master} 2\n"
                        "sentinel down-after-milliseconds mymaster 500\nsentinel failover-timeout mymaster 3000\n",
                        encoding="utf-8")
        super().__init__([program("redis-server"), str(path), "--sentinel"], CORES, stdout=subprocess.DEVNULL)
        self.await_listening()

    def knows(self, what):
        return int(subprocess.run([program("redis-cli"), "-p", str(self.port), "--raw", "SENTINEL", "MASTER", "mymaster"],
                                  capture_output=True, text=True, check=True, timeout=30)
                   .stdout.split(f"{what}\n")[1].split()[0])


class Sentinel(Plain):
    name = "Sentinel"

    def set_up(self):
        master = self.add()
        for _ in range(2):
            self.add("--replicaof", "127.0.0.1", str(master.port), "--repl-diskless-sync-delay", "0")
        self._sentinels = []
        for number in range(3):
            self._sentinels.append(SentinelServer(self._directory, number, master.port))
        for one in self._sentinels:
            eventually("sentinels know each other",
                       lambda one=one: one.knows("num-slaves") == 2 and one.knows("num-other-sentinels") == 2)
        self.events = ((6, "master killed", master.kill),)

    def __exit__(self, *_):
        for one in getattr(self, "_sentinels", []):
            one.end()
        super().__exit__()

    def keys(self):
        hosts = ",".join(f"127.0.0.1:{one.port}" for one in self._sentinels)
        return f'url: "redis+sentinel://{hosts}/mymaster"'


class Cluster(Plain):
    """Three masters, then a replica of each."""
    name = "Cluster"

    def set_up(self):
        self._buses = [free_port() for _ in range(6)]
        for bus in self._buses:
            self.add("--cluster-enabled", "yes", "--cluster-port", str(bus), "--cluster-node-timeout", "2000",
                     "--cluster-require-full-coverage", "no", "--repl-diskless-sync-delay", "0")
        for number, node in enumerate(self.servers):
            node.ask("CLUSTER", "SET-CONFIG-EPOCH", str(number + 1))
            if number < 3:
                node.ask("CLUSTER", "ADDSLOTSRANGE", str(-(-number * SLOTS // 3)), str(-(-(number + 1) * SLOTS // 3) - 1))
            if number > 0:
                self.servers[0].ask("CLUSTER", "MEET", "127.0.0.1", str(node.port), str(self._buses[number]))
        for node in self.servers:
            eventually("all nodes agree", lambda node=node: self._agrees(node))
        for number in range(3):
            its = self.servers[number].ask("CLUSTER", "MYID").strip()
            replica = self.servers[number + 3]
            eventually("it knows its master", lambda: replica.ask("CLUSTER", "REPLICATE", its).strip() == "OK")
            eventually("it has its data", lambda: "master_link_status:up" in replica.ask("INFO", "replication"))
        self.events = ((6, "slot moved", self._move_slot), (8, "master killed", self._kill), (14, "replica takes over", self._take_over))

    def _check_masters(self, *numbers):
        for number in numbers:
            if "role:master" not in self.servers[number].ask("INFO", "replication"):
                raise Disturbed(f"node {number} is a master no more")

    def _kill(self):
        self._check_masters(1)
        self.servers[1].kill()

    def _take_over(self):
        self._check_masters(2)
        self.servers[5].ask("CLUSTER", "FAILOVER", "TAKEOVER")

    @staticmethod
    def _agrees(node):
        told = node.ask("CLUSTER", "INFO")
        return "cluster_state:ok" in told and "cluster_known_nodes:6" in told

    def keys(self):
        return f'url: "redis+cluster://127.0.0.1:{self.servers[0].port},127.0.0.1:{self.servers[4].port}"'

    def _slot(self, name):
        return int(self.servers[0].ask("CLUSTER", "KEYSLOT", f"penstock:{{{name}}}:head"))

    def upstreams(self, count):
        """The first on the first master, the second on the second and so on."""
        found, number = [], 0
        while len(found) < count:
            if self._slot(f"u{number}") * 3 // SLOTS == len(found) % 3:
                found.append(f"u{number}")
            number += 1
        self._first = found[0]
        return found

    def _move_slot(self):
        """That of the first upstream, to the third master, with its keys."""
        self._check_masters(0, 2)
        slot, source, target = str(self._slot(self._first)), self.servers[0], self.servers[2]
        from_id, to_id = source.ask("CLUSTER", "MYID").strip(), target.ask("CLUSTER", "MYID").strip()
        target.ask("CLUSTER", "SETSLOT", slot, "IMPORTING", from_id)
        source.ask("CLUSTER", "SETSLOT", slot, "MIGRATING", to_id)
        while keys := source.ask("CLUSTER", "GETKEYSINSLOT", slot, "10").split():
            said = source.ask("MIGRATE", "127.0.0.1", str(target.port), "", "0", "5000", "KEYS", *keys).strip()
            if said not in ("OK", "NOKEY"):
                raise Failed(f"MIGRATE: {said}")
        for node in (target, source):
            node.ask("CLUSTER", "SETSLOT", slot, "NODE", to_id)


WAYS = (Plain, Tls, Sentinel, Cluster)
