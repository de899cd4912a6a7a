# SPDX-License-Identifier: Apache-2.0
# https through tunnels, with real TLS from client to origin: the limits govern connections.
"""The origin ends each connection after one answer, so that connections are as many as requests."""
import re

import requests

from case import program, read
from limited import AT_ONCE, COUNT, EveryClient, Limited
from stage import NAME, PATIENCE


class Tunnel(EveryClient):
    keep = False
    elsewhere = "access: {{ connectPorts: [{port}] }}"
    upstream = "    timeouts: {{ tunnelRest: 0s }}"  # a client that computes for half a second would give its slot to others

    def base(self):
        return f"https://{NAME}:{self.origin.port}"

    def check_events(self, ended, count):
        self.check_tunnels(ended, count)

    def test_ruby(self):
        """It takes http_proxy for https, too, and nothing else."""
        self.ask("client.rb", https_proxy="http://127.0.0.1:9", HTTPS_PROXY="http://127.0.0.1:9")

    def test_java_with_a_proxy_selector(self):
        self.ask("Client.java", **self.java(self.identity.trust_store()))

    def test_java_by_the_variable_of_the_docs(self):
        """docs/clients.md has it with the usual address."""
        host, port = self.proxy.url.removeprefix("http://").split(":")
        said = re.search(r'^export JAVA_TOOL_OPTIONS="(.*)"$', read("docs/clients.md"), re.MULTILINE)[1]
        properties = said.replace("127.0.0.1", host).replace("3128", port)
        self.ask("Client.java", **self.java(self.identity.trust_store()), http_proxy=None, JAVA_TOOL_OPTIONS=properties)

    def test_openai_with_undici(self):
        self.chat("undici")


class Kept(Limited):
    """Where connections are kept, a tunnel carries many requests."""

    elsewhere = Tunnel.elsewhere
    base = Tunnel.base

    def check_events(self, ended, count):
        self.check_tunnels(ended, count)

    def curl(self, *arguments):
        return self.run_client("curl", "--silent", "--show-error", *arguments)

    def test_curl_sends_several_requests_through_one_tunnel(self):
        urls = [self.base() + "/files/big.bin"] * 3
        self.assertEqual(self.curl(*urls), self.folder.read("big.bin") * 3)
        self.assertEqual(len(self.origin.seen), 3)
        ended = self.proxy.wait_for(1, "complete")
        self.check_events(ended, 1)
        self.assertEqual(ended[0]["alpn"], "h2,http/1.1")

    def test_requests_posts_through_one_tunnel(self):
        with requests.Session() as session:
            session.trust_env = False
            session.proxies, session.verify = {"https": self.proxy.url}, self.identity.ca
            big = self.folder.read("big.bin")
            for _ in range(5):
                self.assertEqual(session.post(self.base() + "/echo", data=big, timeout=PATIENCE).content, big)
        self.check_events(self.proxy.wait_for(1, "complete"), 1)

    def test_undici_with_as_many_connections_as_slots_keeps_them_busy(self):
        said = self.run_client(*program("undici_pool.mjs"), self.base() + "/held/", str(COUNT))
        self.assertEqual(len(said.splitlines()), COUNT)
        self.assertEqual((len(self.origin.seen), self.origin.book.most), (COUNT, AT_ONCE))
        self.check_events(self.proxy.wait_for(AT_ONCE, "complete"), AT_ONCE)

    def test_wget_follows_a_redirect(self):
        said = self.run_client("wget", "--quiet", "--output-document=-", self.base() + "/redirect")
        self.assertEqual(said, b"hello\n")
        self.assertEqual(len(self.origin.seen), 2)

    def test_curl_is_told_why_not(self):
        said = self.try_client("curl", "--silent", "--include", f"https://{NAME}:25/").stdout
        self.assertIn(b"403 Penstock: CONNECT to port 25 is not allowed (access.connectPorts)", said)

    def test_requests_is_told_why_not(self):
        with self.assertRaisesRegex(requests.exceptions.ProxyError, "Penstock: CONNECT to port 25 is not allowed"):
            requests.get(f"https://{NAME}:25/", proxies={"https": self.proxy.url}, timeout=PATIENCE)
