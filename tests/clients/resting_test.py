# SPDX-License-Identifier: Apache-2.0
# Programs that keep more connections than `maxConcurrent` allows requests, through tunnels: what rests in their pools
# must not hold the slots for which their other requests wait.
"""Nobody is refused, every answer is the right one, and all of it takes no longer than slots that change hands."""
import functools
import hashlib
import io
import json
import tarfile
import time
import urllib.parse

import machine
from case import ARGUMENTS, program
from limited import AT_ONCE, Limited
from origin import HOLD, Answers
from stage import NAME

REQUESTS = 12
TUNNEL_REST = 0.5  # seconds: `timeouts.tunnelRest`, as it is by default
JARS = ["httpclient", "httpcore", "commons-logging", "commons-codec"]


class Tunnels(Limited):
    def settings(self):
        return (f"dns: {{ servers: [{self.names.address}] }}\naccess: {{ connectPorts: [{self.origin.port}] }}\n"
                f"upstreams:\n  api: {{ match: {NAME}, https: tunnel, maxConcurrent: {AT_ONCE} }}\n")

    def base(self):
        return f"https://{NAME}:{self.origin.port}"

    def ask_by(self, *command, **variables):
        done = self.try_client(*command, variables=self.variables() | variables)
        said = done.stderr.decode()[-2000:]
        self.assertEqual(sorted(done.stdout.decode().splitlines()),
                         sorted(f"hello {number}" for number in range(1, REQUESTS + 1)), said)
        self.assertEqual(done.returncode, 0, said)
        self.assertEqual(len(self.origin.seen), REQUESTS)
        self.assert_shared()

    def assert_shared(self):
        """By how many the origin was asked at once, by the log, and in time: a slot for each request, and for as long as
        its tunnel may be busy still; half as much again for what a program needs in between."""
        events = self.proxy.events()
        self.assertEqual([event for event in events if event["event"] == "refused"], [])
        self.assertLessEqual(self.origin.book.most, AT_ONCE)
        came = self.origin.book.came
        first = min(event["at"] - event["waitMs"] / 1000 for event in events if event["event"] == "dispatch")
        took, late = came[-1] + HOLD - first, machine.late(first, came[-1] + HOLD)
        self.assertLessEqual(took - late, 1.5 * len(came) / AT_ONCE * (HOLD + TUNNEL_REST), f"{late} s late")


class Pools(Tunnels):
    def urls(self):
        return [f"{self.base()}/held/{number}" for number in range(1, REQUESTS + 1)]

    def test_curl_in_parallel(self):
        self.ask_by("curl", "--parallel", "--parallel-immediate", "--silent", "--show-error", "--fail", *self.urls())

    def test_guzzle_of_php(self):
        self.ask_by("php", "-d", f"curl.cainfo={self.identity.ca}", *program("guzzle.php")[1:], self.base() + "/held/",
                    str(REQUESTS))

    def test_boto3_in_six_threads(self):
        self.ask_by(*program("boto3_client.py"), self.base() + "/held/", str(REQUESTS))

    def test_apache_httpclient_of_java(self):
        host, port = urllib.parse.urlsplit(self.proxy.url).netloc.split(":")
        proxy = " ".join(f"-D{scheme}.proxyHost={host} -D{scheme}.proxyPort={port}" for scheme in ("http", "https"))
        jars = ":".join([ARGUMENTS.classes, *(f"/usr/share/java/{jar}.jar" for jar in JARS)])
        self.ask_by("java", "-XX:+UseSerialGC", "-classpath", jars, "Pooled", self.base() + "/held/", str(REQUESTS),
                    JAVA_TOOL_OPTIONS=f"{proxy} {self.identity.trust_store()}")


class Registry(Answers):
    """Of packages package-1, package-2 and so on: what npm asks of each, and its archive."""

    def serve(self):
        self.server.book.enter()
        self.server.seen.append((self.command, self.path, self.headers))
        self.body()
        time.sleep(HOLD)
        name = self.path.strip("/").removesuffix(".tgz")
        archive = archive_of(name)
        if self.path.endswith(".tgz"):
            return self.answer(200, archive, [("Content-Type", "application/octet-stream")])
        told = {"name": name, "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": {
            "name": name, "version": "1.0.0", "dist": {
                "tarball": f"https://{self.headers['Host']}/{name}.tgz", "shasum": hashlib.sha1(archive).hexdigest()}}}}
        return self.answer(200, json.dumps(told).encode(), [("Content-Type", "application/json")])

    do_GET = do_POST = serve


@functools.cache  # gzip writes the time into it
def archive_of(name):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz", format=tarfile.PAX_FORMAT) as archive:
        content = json.dumps({"name": name, "version": "1.0.0"}).encode()
        entry = tarfile.TarInfo("package/package.json")
        entry.size, entry.mode = len(content), 0o644
        archive.addfile(entry, io.BytesIO(content))
    return packed.getvalue()


class Npm(Tunnels):
    def start_origin(self):
        super().start_origin()
        self.origin.RequestHandlerClass = Registry

    def test_npm_installs_many_packages(self):
        names = [f"package-{number}" for number in range(1, REQUESTS + 1)]
        self.folder.write("package.json", b'{"name": "tests", "version": "1.0.0"}')
        self.run_client("npm", "install", f"--registry={self.base()}/", f"--cache={self.folder.path('npm')}", "--no-audit",
                        "--no-fund", "--no-update-notifier", "--fetch-retries=0", *names, variables=self.variables() | {"npm_config_cafile": self.identity.ca})
        for name in names:
            self.assertIn(name.encode(), self.folder.read(f"node_modules/{name}/package.json"))
        self.assertEqual(len(self.origin.seen), 2 * REQUESTS)
        self.assert_shared()
