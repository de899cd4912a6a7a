# SPDX-License-Identifier: Apache-2.0
"""The proxies whose interception is compared: what each needs to vouch for the origin in the name of one authority.
For the programs of this folder only."""

import dataclasses
import os
import pathlib
import pwd
import shutil
import subprocess
import tempfile

from processes import Failed, Process
from proxies import ANSWER_BYTES, RECIPES, Proxy
from tls_origin import make_authority

PEEKING = "Squid, peek"  # looks at the origin's certificate first, and makes its own alike
TUNNEL = "Penstock's tunnel"  # opens nothing: the client's TLS is with the origin
CERTIFIER = "/usr/lib/squid/security_file_certgen"

INTERCEPTION_RECIPES = {
    "Penstock": dataclasses.replace(RECIPES["Penstock"], template="penstock_intercept.yaml"),
    "mitmproxy": RECIPES["mitmproxy"],
    "Squid": dataclasses.replace(RECIPES["Squid"], template="squid_bump.conf", tls="ssl_bump bump all"),
    PEEKING: dataclasses.replace(RECIPES["Squid"], template="squid_bump.conf",
                                 tls="acl first at_step SslBump1\nssl_bump peek first\nssl_bump bump all"),
    TUNNEL: dataclasses.replace(RECIPES["Penstock"], lines=0),  # a tunnel has lines, the requests in it have none
}


class Signer:
    """An authority that clients trust, the same for all proxies: of a P-256 key, whatever they would make by default."""

    def __init__(self):
        self.directory = tempfile.mkdtemp(prefix="bench-signer-")
        os.chmod(self.directory, 0o755)
        make_authority(self.directory)
        self.certificate, self.key = (f"{self.directory}/ca.{ending}" for ending in ("pem", "key"))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.directory, ignore_errors=True)

    def known_at(self, door):
        """The origin's door, as a proxy that intercepts must know it."""
        return dataclasses.replace(door, tls={**door.tls, "SIGNER": self.certificate, "SIGNER_KEY": self.key})


class Interceptor(Proxy):
    def __init__(self, bench, name, door, max_concurrent=256):
        super().__init__(bench, INTERCEPTION_RECIPES[name], door, max_concurrent)

    def prepare(self, values):
        if self.recipe.name == "mitmproxy":
            self._give_mitmproxy_its_directory(values["SIGNER"], values["SIGNER_KEY"])
        if self.recipe.name == "Squid":
            self._give_squid_its_certificates()

    def _give_mitmproxy_its_directory(self, certificate, key):
        os.rename(f"{self.directory}/mitmproxy.yaml", f"{self.directory}/config.yaml")
        both = pathlib.Path(self.directory, "mitmproxy-ca.pem")
        both.write_text(pathlib.Path(key).read_text() + pathlib.Path(certificate).read_text(), encoding="ascii")

    def _give_squid_its_certificates(self):
        """Where its processes that sign keep what they made. Their place must belong to who Squid becomes."""
        user = {"user": pwd.getpwnam("proxy").pw_uid} if os.geteuid() == 0 else {}
        made = subprocess.run([CERTIFIER, "-c", "-s", f"{self.directory}/certificates", "-M", "4MB"], **user,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if made.returncode != 0:
            raise Failed(f"{CERTIFIER} makes no place for certificates:\n{made.stderr}")


def tls_load(bench, way, proxy, door, authority, chosen):
    words = [way, proxy.port, door.port, ANSWER_BYTES, chosen.clients, authority, chosen.warm_up, chosen.seconds]
    return Process([str(bench.build / "lab/bench/bench_tls_load"), *map(str, words)], bench.load_core)
