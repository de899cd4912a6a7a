# SPDX-License-Identifier: Apache-2.0
# Clients under limits: two requests at once at most, four in any two seconds; and what the origin saw of that.
"""Shared by the tests of all ways to an upstream."""
import subprocess
import threading
import time

import machine
from case import Case, program
from origin import PIECES, Origin
from stage import NAME, PATIENCE, Identity, NameServer

AT_ONCE, IN_INTERVAL, INTERVAL = 2, 4, 2.0
LIMIT = "slidingWindow"
SLOTS = "maxConcurrent"
LATE = 0.4  # seconds by which what left first may have come late, and with it have shortened what lies between
SOON = 0.1  # who comes so long before the limit lets go must have waited for it
COUNT = 6   # requests at once


class Limited(Case):
    """The origin is called NAME, and speaks TLS."""

    limit = f"{LIMIT}: {{ max: {IN_INTERVAL}, interval: {INTERVAL}s }}"
    upstream = ""    # further keys of it
    elsewhere = ""   # further lines of the configuration
    keep = True      # the origin keeps connections
    tls = True

    def start_origin(self):
        self.identity = Identity(self.folder.name)
        self.names = NameServer()
        self.addCleanup(self.names.stop)
        self.origin = Origin(self.folder.name, self.identity.tls if self.tls else None, self.keep)

    def known(self):
        """What `upstream` and `elsewhere` may name."""
        return {"port": self.origin.port, "ca": self.identity.ca}

    def settings(self):
        known = self.known()
        return (f"dns: {{ servers: [{self.names.address}] }}\n{self.elsewhere.format(**known)}\n"
                f"upstreams:\n  api:\n    match: {NAME}\n    maxConcurrent: {AT_ONCE}\n    limits: [ {self.limit} ]\n"
                f"{self.upstream.format(**known)}")

    def variables(self):
        """As `penstock env` sets them, and the tests' own authority, which only tunnels need."""
        lower = {"http_proxy": self.proxy.url, "https_proxy": self.proxy.url, "no_proxy": "127.0.0.1"}
        return lower | {name.upper(): value for name, value in lower.items()} | self.identity.variables()

    def base(self):
        """How clients call the origin: scheme and authority."""
        raise NotImplementedError

    def ask(self, name, **variables):
        """A program of ours asks for several things at once."""
        done = self.try_client(*program(name), self.base() + "/held/", str(COUNT),
                               variables=self.variables() | variables)
        self.assertEqual(sorted(done.stdout.decode().splitlines()),
                         [f"hello {number}" for number in range(1, COUNT + 1)], done.stderr.decode()[-2000:])
        self.assert_held(COUNT)

    def chat(self, *arguments, **variables):
        """OpenAI's SDK has several conversations at once."""
        said = self.run_client(*program("openai.mjs"), str(COUNT), *arguments, variables=self.variables() | {
            "OPENAI_BASE_URL": self.base() + "/v1", "OPENAI_API_KEY": "sk-of-the-tests"} | variables)
        pieces = [f"{number} {piece}" for number in range(1, COUNT + 1) for piece in PIECES]
        self.assertEqual(sorted(said.decode().splitlines()), sorted(pieces))
        self.assertEqual({fields["Authorization"] for _, _, fields in self.origin.seen}, {"Bearer sk-of-the-tests"})
        self.assert_held(COUNT)

    def assert_streams(self, *command):
        """Each event of a chat is printed before the next one is sent."""
        self.origin.say_next = threading.Semaphore(0)
        said = self.variables() | {"OPENAI_BASE_URL": self.base() + "/v1", "OPENAI_API_KEY": "sk-of-the-tests"}
        with subprocess.Popen(command, env=self.environment(said), stdout=subprocess.PIPE, text=True) as client:
            bound = threading.Timer(PATIENCE, client.kill)
            bound.start()
            for piece in PIECES:
                self.origin.say_next.release()
                self.assertEqual(client.stdout.readline(), f"1 {piece}\n")
            self.assertEqual(client.wait(), 0)
            bound.cancel()

    def clone_at_once(self):
        """More clones than may be served together, of three requests each."""
        self.make_repository()
        clones = [f"clone-{number}" for number in range(2 * AT_ONCE)]
        begin = " ".join(f"git clone --quiet {self.base()}/git/project.git {clone} & all=\"$all $!\";" for clone in clones)
        self.run_git(f"all=; {begin} for one in $all; do wait $one; done")
        for clone in clones:
            self.assert_cloned(clone)
        self.assert_held(3 * len(clones))

    def run_git(self, script):
        self.run_client("/bin/sh", "-ec", script)

    def assert_cloned(self, clone):
        self.assertEqual(self.folder.read(f"{clone}/big.bin"), self.folder.read("work/big.bin"))

    def assert_held(self, count):
        """The origin saw so many requests, and never more of them than the limits allow."""
        self.assertEqual(len(self.origin.book.came), count)
        self.assertLessEqual(self.origin.book.most, AT_ONCE)
        self.check_events(self.proxy.wait_for(count, "complete"), count)
        self.assert_apart(IN_INTERVAL, INTERVAL)
        self.assert_told_what_held_them()

    def departures(self):
        """What the log says of each that left for the origin, in order. Others may have gone elsewhere."""
        return [event for event in self.proxy.events() if event["event"] == "dispatch" and event["upstream"] == "api"]

    def assert_apart(self, most, interval):
        """Nothing reached the origin before the log says that it had left, and no more than the limit left in any
        interval: these two are exact, however late anything came. And it came soon, but for what the machine was late."""
        came, left = self.origin.book.came, [event["at"] for event in self.departures()]
        self.assertEqual(len(left), len(came))
        for departure, arrival in zip(left, came):
            self.assertGreaterEqual(arrival, departure, f"{came} of what left at {left}")
        for first, beyond in zip(left, left[most:]):
            self.assertGreaterEqual(beyond - first, interval, left)
        for at, (first, beyond) in enumerate(zip(came, came[most:])):
            late = LATE + machine.late(left[at], first)
            self.assertGreater(beyond - first, interval - late, f"{came} of what left at {left}")

    def assert_told_what_held_them(self):
        """`limitedBy` names the limit for nobody of the first, which it let go at once: they waited for a place, if for
        anything. Of the others, who was there before it let go, and had a place free from then until it left, names
        `maxConcurrent` if it had to wait for a place for most of the time, and the limit if it had one for most of the
        time. A client that is slow, on a busy machine, may not meet the limit at all."""
        left = self.departures()
        landed = [event["at"] for event in self.proxy.events()
                  if event["event"] in ("complete", "error") and event["upstream"] == "api"]
        for event in left[:IN_INTERVAL]:
            self.assertIn(event.get("limitedBy"), (None, SLOTS), event)

        def in_flight(at):
            return sum(one["at"] <= at for one in left) - sum(end <= at for end in landed)

        def part_full(event):
            """The part of its wait for which no place was free."""
            came = event["at"] - event["waitMs"] / 1000
            moments = sorted({came, event["at"],
                              *(at for at in [one["at"] for one in left] + landed if came < at < event["at"])})
            full = sum(end - begin for begin, end in zip(moments, moments[1:]) if in_flight(begin) >= AT_ONCE)
            return full / (event["at"] - came)

        def met_it(first, event):
            before = first["at"] + INTERVAL - SOON - machine.late(first["at"], event["at"])
            in_between = [one["at"] for one in left if before < one["at"] < event["at"]]
            return (event["at"] - event["waitMs"] / 1000 < before
                    and all(in_flight(at) < AT_ONCE for at in (before, *in_between)))

        for first, event in zip(left, left[IN_INTERVAL:]):
            if met_it(first, event):
                full = part_full(event)
                expected = {LIMIT} if full < 0.45 else {SLOTS} if full > 0.55 else {LIMIT, SLOTS}
                self.assertIn(event.get("limitedBy"), expected, (full, event))
        if not any(event.get("limitedBy") == LIMIT for event in left):
            late = machine.late(left[0]["at"], left[-1]["at"])
            self.assertGreater(late, 0.1, f"nobody met the limit: {left}")
            machine.say_not_judged(late, self.id(), "nobody met the limit")

    def check_events(self, ended, count):
        """Each request is told of by itself."""
        self.assertEqual(len(ended), count)
        for event in ended:
            self.assertEqual((event["upstream"], event["host"], event["status"]), ("api", NAME, 200))
            self.assertNotIn("tunnel", event)
        self.assertEqual(sorted(event["path"] for event in ended),
                         sorted(path.partition("?")[0] for _, path, _ in self.origin.seen))

    def check_tunnels(self, ended, count):
        """One departure a tunnel, and a tunnel for each request where nobody keeps connections."""
        self.assertEqual(len(ended), count)
        for event in ended:
            self.assertEqual((event["upstream"], event["method"], event["tunnel"]), ("api", "CONNECT", True))
            self.assertEqual((event["host"], event["sni"]), (NAME, NAME))


class EveryClient(Limited):
    """A class of tests for each way: what each client does there, six requests at once."""

    def test_curl(self):
        self.ask("curl.sh")

    def test_wget(self):
        self.ask("wget.sh")

    def test_requests(self):
        self.ask("requests_client.py")

    def test_httpx(self):
        self.ask("httpx_client.py")

    def test_aiohttp(self):
        self.ask("aiohttp_client.py")

    def test_urllib(self):
        self.ask("urllib_client.py")

    def test_undici_with_default_settings(self):
        self.ask("undici.mjs")

    def test_fetch_of_node(self):
        self.ask("fetch.mjs", NODE_USE_ENV_PROXY="1")

    def test_axios(self):
        self.ask("axios.mjs")

    def test_ruby(self):
        self.ask("client.rb")

    def test_java_with_a_proxy_selector(self):
        self.ask("Client.java", **self.java())

    def test_git_clone(self):
        self.clone_at_once()

    def java(self, *options):
        return {"JDK_JAVA_OPTIONS": " ".join(["-XX:TieredStopAtLevel=1", *options])}
