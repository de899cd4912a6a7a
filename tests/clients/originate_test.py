# SPDX-License-Identifier: Apache-2.0
# `https: originate`: clients ask for http, the proxy speaks TLS to the origin and governs each request.
"""The origin speaks nothing but TLS, so what arrives there has come encrypted."""
from limited import EveryClient
from stage import NAME


class Originate(EveryClient):
    upstream = "    https: originate\n    tls: {{ ca: {ca} }}\n"
    # undici tunnels http, too: what it sends inside is governed as what others send.
    elsewhere = "access: {{ connectPorts: [{port}], plainPorts: [{port}] }}"

    def base(self):
        return f"http://{NAME}:{self.origin.port}"

    def variables(self):
        """Clients need not know the authority."""
        return {name: value for name, value in super().variables().items() if name.lower().endswith("_proxy")}

    def test_java_by_its_properties(self):
        host, port = self.proxy.url.removeprefix("http://").split(":")
        self.ask("Client.java", **self.java(f"-Dhttp.proxyHost={host}", f"-Dhttp.proxyPort={port}"), http_proxy=None)

    def test_openai_with_undici(self):
        self.chat("undici")

    def test_redirects_and_cookies_stay_usable_over_http(self):
        """curl comes back to http, and its jar, which keeps no `Secure` cookie that came by http, sends the cookie."""
        said = self.run_client("curl", "--silent", "--show-error", "--location", "--cookie", "jar", "--cookie-jar", "jar",
                               self.base() + "/login")
        self.assertEqual(said, b"welcome back\n")
        self.assertEqual([path for _, path, _ in self.origin.seen], ["/login", "/home"])
