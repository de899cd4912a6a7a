# SPDX-License-Identifier: Apache-2.0
# Plain http inside of CONNECT, as Node's clients send it: governed request by request, not as tunnels.
"""The port is one of access.plainPorts."""
from limited import Limited
from stage import NAME


class PlainInside(Limited):
    tls = False
    elsewhere = "access: {{ connectPorts: [{port}], plainPorts: [{port}] }}"

    def base(self):
        return f"http://{NAME}:{self.origin.port}"

    def test_undici_with_default_settings(self):
        self.ask("undici.mjs")

    def test_fetch_of_node(self):
        self.ask("fetch.mjs", NODE_USE_ENV_PROXY="1")

    def test_openai_with_undici(self):
        self.chat("undici")
