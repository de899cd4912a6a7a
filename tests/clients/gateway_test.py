# SPDX-License-Identifier: Apache-2.0
# The gateway: clients are given http://PROXY/@NAME as base URL, and need not know of a proxy at all.
"""Once without proxy variables; once with http_proxy set for everything, as some environments have it."""

from case import program
from limited import EveryClient, Limited
from stage import NAME


class ByGateway(Limited):
    upstream = "    baseUrl: https://" + NAME + ":{port}\n    tls: {{ ca: {ca} }}\n"

    def base(self):
        return self.proxy.url + "/@api"

    def variables(self):
        return {}

    def assert_held(self, count):
        super().assert_held(count)
        self.assertEqual({fields["Host"] for _, _, fields in self.origin.seen}, {f"{NAME}:{self.origin.port}"})


class Gateway(ByGateway, EveryClient):
    def test_openai(self):
        self.chat()

    def test_openai_prints_each_event_of_a_stream_before_the_next_is_sent(self):
        self.assert_streams(*program("openai.mjs"), "1")


class GatewayAndProxy(ByGateway):
    """The variables are obeyed or not, as each client does it: it arrives in the same place. Here are the ways to say so:
    curl and git name the gateway's whole URL, undici asks itself for a tunnel to the gateway, `fetch` ignores them."""

    def variables(self):
        return {"http_proxy": self.proxy.url, "HTTP_PROXY": self.proxy.url}

    def test_curl(self):
        self.ask("curl.sh")

    def test_git_clone(self):
        self.clone_at_once()

    def test_undici_with_default_settings(self):
        self.ask("undici.mjs")

    def test_fetch_of_node(self):
        self.ask("fetch.mjs")

    def test_openai_with_undici(self):
        self.chat("undici")
