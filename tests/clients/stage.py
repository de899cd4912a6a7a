# SPDX-License-Identifier: Apache-2.0
# The stage for real clients: a folder, a certificate, the running proxy, and a name server for the proxy.
"""Started and stopped by the tests; everything on loopback, on free ports."""
import datetime
import json
import os
import re
import socket
import ssl
import subprocess
import tempfile
import threading
import time

PATIENCE = 60  # seconds; whoever meets it has failed
NAME = "api.test"  # of the origin; the clients do not look it up, and none of them takes it for this machine
FAR = "far.test"   # of an origin that no configuration knows


class Identity:
    """A certificate for an origin's name by a CA of its own, and that CA in each form in which clients ask for it."""

    def __init__(self, folder, name=NAME, address="127.0.0.1", others=()):
        self.folder = folder
        os.makedirs(folder, exist_ok=True)
        self.ca = os.path.join(folder, "ca.pem")
        key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
        self.openssl("req", "-x509", *key, "-keyout", "ca.key", "-out", "ca.pem", "-days", "2", "-subj",
                     "/CN=Penstock's tests")
        self.openssl("req", *key, "-keyout", "key.pem", "-out", "request.pem", "-subj", f"/CN={name}")
        with open(os.path.join(folder, "names"), "w", encoding="ascii") as file:
            names = ",".join(f"DNS:{one}" for one in (name, *others, "localhost"))
            file.write(f"subjectAltName={names},IP:{address}\n")
        self.openssl("x509", "-req", "-in", "request.pem", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days",
                     "2", "-extfile", "names", "-out", "cert.pem")
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.tls.load_cert_chain(os.path.join(folder, "cert.pem"), os.path.join(folder, "key.pem"))
        self.tls.set_alpn_protocols(["http/1.1"])

    def openssl(self, *words):
        return subprocess.run(["openssl", *words], cwd=self.folder, check=True, capture_output=True).stdout

    def variables(self):
        """What makes most clients trust this CA."""
        wgetrc = os.path.join(self.folder, "wgetrc")
        with open(wgetrc, "w", encoding="utf-8") as file:
            file.write(f"ca_certificate = {self.ca}\n")
        return {"SSL_CERT_FILE": self.ca, "CURL_CA_BUNDLE": self.ca, "REQUESTS_CA_BUNDLE": self.ca,
                "NODE_EXTRA_CA_CERTS": self.ca, "GIT_SSL_CAINFO": self.ca, "PERL_LWP_SSL_CA_FILE": self.ca,
                "WGETRC": wgetrc}

    def trust_store(self, *others):
        """The same for Java, made when first asked for; with certificates in other files, too."""
        store = os.path.join(self.folder, "trust.p12")
        for number, file in enumerate(() if os.path.exists(store) else (self.ca, *others)):
            subprocess.run(["keytool", "-importcert", "-noprompt", "-alias", f"tests-{number}", "-file", file, "-keystore",
                            store, "-storepass", "not-secret"], check=True, capture_output=True)
        return f"-Djavax.net.ssl.trustStore={store} -Djavax.net.ssl.trustStorePassword=not-secret"


class NameServer:
    """Knows NAME and FAR, which are 127.0.0.1, and nothing else."""

    def __init__(self):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self.socket.getsockname()[1]}"
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()

    def serve(self):
        while True:
            asked, whom = self.socket.recvfrom(4096)
            if not asked:
                return
            self.socket.sendto(self.answer(asked), whom)

    @staticmethod
    def answer(asked):
        at, labels = 12, []
        while size := asked[at]:
            labels.append(asked[at + 1:at + 1 + size].decode())
            at += 1 + size
        question = asked[12:at + 5]
        known, a = ".".join(labels).lower() in (NAME, FAR), question[-4:-2] == b"\0\x01"
        head = asked[:2] + (b"\x81\x80" if known else b"\x81\x83") + b"\0\x01\0" + bytes([known and a]) + bytes(4)
        record = b"\xc0\x0c\0\x01\0\x01\0\0\0\x3c\0\x04" + bytes([127, 0, 0, 1])
        return head + question + (record if known and a else b"")

    def stop(self):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as last:
            last.sendto(b"", self.socket.getsockname())
        self.thread.join()
        self.socket.close()


class Program:
    """The program under test: its configuration, and what it tells of requests."""

    def __init__(self, binary, folder, more=""):
        """`more`: further lines of its configuration."""
        self.binary = binary
        self.events_file = os.path.join(folder, "events")
        self.config = os.path.join(folder, "penstock.yaml")
        with open(self.config, "w", encoding="utf-8") as file:
            file.write("version: 1\nproxy: { listen: 127.0.0.1:0, grace: 1s }\nadmin: { listen: 127.0.0.1:0 }\n"
                       f"log: {{ events: {self.events_file} }}\n{more}")

    def command(self, *words):
        return [self.binary, *words, "--config", self.config]

    def events(self):
        """Each with the time of time.monotonic() as `at`."""
        with open(self.events_file, encoding="utf-8") as file:
            events = [json.loads(line) for line in file if line.endswith("\n")]
        # Of several readings the greatest: the clocks are read one after the other, and a stall in between makes it less.
        since_1970 = max(time.time() - time.monotonic() for _ in range(5))
        for event in events:
            event["at"] = datetime.datetime.fromisoformat(event["ts"]).timestamp() - since_1970
        return events

    def wait_for(self, count, kind):
        """The events of a kind, once there are that many."""
        until = time.monotonic() + PATIENCE
        while True:
            found = [event for event in self.events() if event["event"] == kind]
            if len(found) >= count or time.monotonic() > until:
                return found
            time.sleep(0.01)


class Proxy(Program):
    """Runs until it is stopped."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.start()

    def start(self):
        self.process = subprocess.Popen(self.command("run"), stderr=subprocess.PIPE, text=True, env={})
        self.said = []
        self.url = None
        for line in self.process.stderr:
            self.said.append(line)
            if found := re.search(r"listening on (http://127\.0\.0\.1:\d+)", line):
                self.url = found.group(1)
                break
        assert self.url, "the program does not listen:\n" + "".join(self.said)
        self.reader = threading.Thread(target=lambda: self.said.extend(self.process.stderr))
        self.reader.start()

    def stop(self):
        """Ends it; its exit code and what it said."""
        self.process.terminate()
        try:
            code = self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = self.process.wait()
        self.reader.join()
        self.process.stderr.close()
        return code, "".join(self.said)


class Folder(tempfile.TemporaryDirectory):
    """A folder with something to serve in it."""

    def __init__(self):
        super().__init__(prefix="penstock-clients-")
        self.write("hello.txt", b"hello\n")
        self.write("big.bin", bytes(range(256)) * 16384)

    def write(self, name, content):
        with open(self.path(name), "wb") as file:
            file.write(content)

    def path(self, name=""):
        return os.path.join(self.name, name)

    def read(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()
