# SPDX-License-Identifier: Apache-2.0
"""The origin of the measurements with TLS: nginx with a certificate of an authority, both made for this run, giving the
same answer on a plain port and on one over TLS. For the programs of this folder only."""

import dataclasses
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import urllib.request

from processes import Failed, Server, free_port
from proxies import ANSWER_BYTES, AS_ROOT, NGINX, PEERS, filled

NAME = "origin.test"
LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789+"  # as bench_load expects them


def make_authority(directory, names=f"DNS:{NAME},DNS:localhost,IP:127.0.0.1"):
    """ca.pem and ca.key there, and origin.pem and origin.key of an origin that it vouches for, by those names."""
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
    authority = ["-x509", "-subj", "/CN=authority of a benchmark", "-addext", "basicConstraints=critical,CA:true",
                 "-addext", "keyUsage=critical,keyCertSign", "-keyout", "ca.key", "-out", "ca.pem"]
    origin = ["-x509", "-subj", f"/CN={NAME}", "-addext", f"subjectAltName={names}",
              "-addext", "basicConstraints=critical,CA:false", "-CA", "ca.pem", "-CAkey", "ca.key",
              "-keyout", "origin.key", "-out", "origin.pem"]
    for words in (authority, origin):
        made = subprocess.run(["openssl", "req", *key, *words], cwd=directory, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True)
        if made.returncode != 0:
            raise Failed(f"openssl makes no certificate:\n{made.stderr}")


@dataclasses.dataclass(frozen=True)
class Door:
    """One of its ports, as the bench wants an origin; `tls` is what a proxy must know."""
    pid: int
    port: int
    tls: dict = None


class TlsOrigin(Server):
    def __init__(self, bench):
        self.directory = tempfile.mkdtemp(prefix="bench-origin-")
        os.chmod(self.directory, 0o755)
        make_authority(self.directory)
        plain, tls, self.port = free_port(), free_port(), free_port()
        body = (LETTERS * (ANSWER_BYTES // len(LETTERS) + 1))[:ANSWER_BYTES]
        values = {"AS_ROOT": AS_ROOT, "DIRECTORY": self.directory, "PLAIN_PORT": plain, "TLS_PORT": tls,
                  "STATUS_PORT": self.port, "BODY": body}
        config = pathlib.Path(self.directory, "nginx_origin.conf")
        config.write_text(filled((PEERS / config.name).read_text(encoding="utf-8"), values), encoding="utf-8")
        words = [re.sub("DIRECTORY", self.directory, re.sub("CONFIG", str(config), word)) for word in NGINX]
        super().__init__([bench.program_of("nginx"), *words], bench.load_core)
        self.await_listening()
        self.plain = Door(self.pid, plain)
        self.tls = Door(self.pid, tls, {"CA": f"{self.directory}/ca.pem", "NAME": NAME})
        self._asked = 0
        self._before = self._status()

    def _status(self):
        """Connections and requests so far, without those that ask for it."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/") as answer:
            connections, _, requests = map(int, answer.read().decode().splitlines()[2].split())
        self._asked += 1
        return connections - self._asked, requests - self._asked

    def seen(self):
        connections, requests = (now - before for now, before in zip(self._status(), self._before))
        return {"connections": connections, "requests": requests}

    def said(self):
        return pathlib.Path(self.directory, "error.log").read_text(errors="replace")[-2000:]

    def end(self):
        super().end()
        shutil.rmtree(self.directory, ignore_errors=True)
