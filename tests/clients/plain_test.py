# SPDX-License-Identifier: Apache-2.0
# Real clients over plain http: curl, wget, Python requests, Node's undici and axios, git, apt.
"""One class for each client; a sentence for each thing that it must be able to do."""
import gzip
import hashlib
import os

import requests

from case import Case, program
from stage import PATIENCE


class Client(Case):
    def assert_all_went_through(self, least=1):
        """Each request reached the origin by way of the proxy, and is told of in the event log."""
        self.assertGreaterEqual(len(self.origin.seen), least)
        for method, path, headers in self.origin.seen:
            self.assertIn("penstock", headers.get("Via", ""), f"{method} {path}")
            self.assertNotIn("Proxy-Connection", headers)
        self.assertEqual(len(self.proxy.wait_for(len(self.origin.seen), "complete")), len(self.origin.seen))


class Curl(Client):
    def curl(self, *arguments, **more):
        return self.run_client("curl", "--silent", "--show-error", "--fail", *arguments, **more)

    def test_fetches_by_option_and_by_variable(self):
        url = self.origin.url("/files/hello.txt")
        self.assertEqual(self.curl("-x", self.proxy.url, url, variables={}), b"hello\n")
        self.assertEqual(self.curl(url), b"hello\n")
        self.assert_all_went_through(2)

    def test_fetches_several_on_one_connection(self):
        big = self.folder.read("big.bin")
        urls = [self.origin.url("/files/big.bin")] * 3
        self.assertEqual(self.curl(*urls), big * 3)
        self.assert_all_went_through(3)

    def test_uploads_after_a_100_continue(self):
        big = self.folder.read("big.bin")
        self.assertEqual(self.curl("--data-binary", "@big.bin", self.origin.url("/echo")), big)
        self.assertEqual(self.origin.seen[0][2].get("Expect"), "100-continue")
        self.assert_all_went_through()

    def test_uploads_in_chunks(self):
        big = self.folder.read("big.bin")
        self.assertEqual(self.curl("-T", "-", self.origin.url("/echo"), stdin=big), big)
        self.assertEqual(self.origin.seen[0][2].get("Transfer-Encoding"), "chunked")
        self.assert_all_went_through()

    def test_asks_for_a_head(self):
        said = self.curl("--head", self.origin.url("/files/big.bin"))
        self.assertIn(b"content-length: 4194304", said.lower())
        self.assert_all_went_through()

    def test_speaks_http_1_0(self):
        self.assertEqual(self.curl("--http1.0", self.origin.url("/files/hello.txt")), b"hello\n")
        self.assert_all_went_through()

    def test_keeps_dots_in_the_path(self):
        self.curl("--path-as-is", self.origin.url("/files/../files/./hello.txt?a=%41"), "-o", "/dev/null", "--no-fail")
        self.assertEqual(self.origin.seen[0][1], "/files/../files/./hello.txt?a=%41")

    def test_shows_why_it_was_refused(self):
        said = self.run_client("curl", "--silent", "--include", "http://10.1.2.3/")
        self.assertIn(b"403 Penstock: ", said)
        self.assertIn(b"destination_ip_prohibited", said)


class Wget(Client):
    def test_downloads(self):
        self.run_client("wget", "--quiet", "--output-document=got", self.origin.url("/files/big.bin"))
        self.assertEqual(self.folder.read("got"), self.folder.read("big.bin"))
        self.assert_all_went_through()

    def test_follows_a_redirect_on_a_kept_connection(self):
        said = self.run_client("wget", "--quiet", "--output-document=-", self.origin.url("/redirect"))
        self.assertEqual(said, b"hello\n")
        self.assert_all_went_through(2)

    def test_posts(self):
        said = self.run_client("wget", "--quiet", "--output-document=-", "--post-data=a=b", self.origin.url("/echo"))
        self.assertEqual(said, b"a=b")
        self.assert_all_went_through()


class Requests(Client):
    def setUp(self):
        super().setUp()
        self.session = requests.Session()
        self.session.trust_env = False
        self.session.proxies = {"http": self.proxy.url}
        self.addCleanup(self.session.close)

    def test_gets_and_posts(self):
        self.assertEqual(self.session.get(self.origin.url("/files/hello.txt"), timeout=PATIENCE).text, "hello\n")
        self.assertEqual(self.session.post(self.origin.url("/echo"), json={"a": 1}, timeout=PATIENCE).json(), {"a": 1})
        self.assertEqual(self.session.get(self.origin.url("/nothing"), timeout=PATIENCE).status_code, 404)
        self.assert_all_went_through(3)

    def test_streams_up_and_down(self):
        pieces = [os.urandom(70_001) for _ in range(60)]
        digest = hashlib.sha256(b"".join(pieces)).hexdigest()
        answer = self.session.post(self.origin.url("/echo"), data=iter(pieces), stream=True, timeout=PATIENCE)
        back = hashlib.sha256()
        for piece in answer.iter_content(50_000):
            back.update(piece)
        self.assertEqual(back.hexdigest(), digest)
        self.assert_all_went_through()

    def test_reuses_its_connection(self):
        for _ in range(50):
            self.assertTrue(self.session.get(self.origin.url("/files/hello.txt"), timeout=PATIENCE).ok)
        self.assert_all_went_through(50)


class Node(Client):
    def settings(self):
        """undici tunnels http, too, unless told otherwise."""
        port = self.origin.port
        return f"access: {{ connectPorts: [{port}], plainPorts: [{port}] }}\n"

    def node(self, client):
        said = self.run_client(*program("client.mjs"), client, self.proxy.url, self.origin.url())
        self.assertEqual(said.decode().strip(), "all well")
        self.assert_all_went_through(4)

    def test_undici(self):
        self.node("undici")

    def test_undici_by_connect(self):
        self.node("tunnelling")
        self.assertEqual([event for event in self.proxy.events() if event["method"] == "CONNECT"], [])

    def test_axios(self):
        self.node("axios")


class Git(Client):
    def setUp(self):
        super().setUp()
        self.make_repository()

    def test_clones_with_the_smart_protocol(self):
        self.run_client("git", "clone", "--quiet", self.origin.url("/git/project.git"), "clone")
        self.assertEqual(self.folder.read("clone/big.bin"), self.folder.read("work/big.bin"))
        self.assertTrue(any(method == "POST" for method, _, _ in self.origin.seen))
        self.assert_all_went_through(2)

    def test_clones_from_plain_files(self):
        self.git("-C", "git/project.git", "update-server-info", variables={})
        self.run_client("git", "clone", "--quiet", self.origin.url("/files/git/project.git"), "clone")
        self.assertEqual(self.folder.read("clone/big.bin"), self.folder.read("work/big.bin"))
        self.assert_all_went_through(4)

    def test_pushes_in_chunks(self):
        self.folder.write("work/more.bin", os.urandom(3 * 1024 * 1024))
        self.git("-C", "work", "add", ".", variables={})
        self.git("-C", "work", "commit", "--quiet", "--message=second", variables={})
        self.run_client("git", "-C", self.folder.path("work"), "-c", "http.postBuffer=65536", "push", "--quiet",
                        self.origin.url("/git/project.git"), "main")
        self.assertTrue(any(headers.get("Transfer-Encoding") == "chunked" for _, _, headers in self.origin.seen))
        self.run_client("git", "clone", "--quiet", self.origin.url("/git/project.git"), "clone")
        self.assertEqual(self.folder.read("clone/more.bin"), self.folder.read("work/more.bin"))
        self.assert_all_went_through(4)


class Apt(Client):
    """A repository of one package, and an apt of its own folders."""

    def setUp(self):
        super().setUp()
        os.makedirs(self.folder.path("build/DEBIAN"))
        self.folder.write("build/DEBIAN/control", b"Package: penstock-trial\nVersion: 1.0\nArchitecture: all\n"
                                                  b"Maintainer: T <t@t.test>\nDescription: nothing at all\n")
        self.run_client("dpkg-deb", "--build", "build", "trial.deb", variables={})
        deb = self.folder.read("trial.deb")
        entry = (self.folder.read("build/DEBIAN/control").decode() +
                 f"Filename: ./trial.deb\nSize: {len(deb)}\nSHA256: {hashlib.sha256(deb).hexdigest()}\n")
        self.folder.write("Packages.gz", gzip.compress(entry.encode()))
        for name in ("etc/apt.conf.d", "etc/preferences.d", "state/lists/partial", "cache/archives/partial"):
            os.makedirs(self.folder.path("apt/" + name))
        self.folder.write("apt/etc/sources.list", f"deb [trusted=yes] {self.origin.url('/files')} ./\n".encode())
        self.folder.write("apt/state/status", b"")

    def apt(self, *arguments):
        home = self.folder.path("apt")
        options = {"Acquire::http::Proxy": self.proxy.url, "Dir::Etc": home + "/etc", "Dir::State": home + "/state",
                   "Dir::State::status": home + "/state/status", "Dir::Cache": home + "/cache",
                   "APT::Sandbox::User": "root", "Acquire::Languages": "none"}
        settings = [word for name, value in options.items() for word in ("-o", f"{name}={value}")]
        return self.run_client("apt-get", "-qq", *settings, *arguments, variables={})

    def test_updates_and_downloads(self):
        self.apt("update")
        self.apt("download", "penstock-trial")
        self.assertEqual(self.folder.read("penstock-trial_1.0_all.deb"), self.folder.read("trial.deb"))
        self.assert_all_went_through(2)
