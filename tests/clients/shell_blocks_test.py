# SPDX-License-Identifier: Apache-2.0
# Each shell block of README.md and docs/ is run as it stands, on a machine of this test's own. What cannot be run here
# stands in ELSEWHERE, with the reason.
"""A test for each block; which one, its decorator says. Where a page shows what a command prints, that is compared."""
import functools
import json
import os
import re
import signal
import subprocess
import unittest

from case import read
from shell_blocks import ROOT, Machine, OnMachine, blocks, find, pages
from stage import PATIENCE

TAKEN = []  # the blocks that the tests below run: (page, how the block begins)

# Why not here: (page, how the block begins).
ELSEWHERE = {
    "it shows streams, which do not end: tests/observe reads them": [
        ("docs/seeing.md", "curl -N http://127.0.0.1:9128/events")],
    "it installs and compiles for minutes: continuous integration does nothing else (.ci/run)": [
        ("README.md", "script/server"), ("docs/testing.md", "script/test "),
        ("docs/testing.md", "script/build test -- ")],
    "it is compiled and installed: tests/embedded does that": [
        ("docs/embedding.md", "cmake --preset release"), ("docs/embedding.md", "g++ ")],
    "it is unpacked in bare roots: tests/packaging/tarball_test.py does that": [
        ("docs/operating.md", "script/package                                        # on Debian 12")],
    "it measures or simulates for minutes, and compiles before": [
        ("docs/performance.md", "script/bench     "), ("docs/performance.md", "script/bench tunnels"),
        ("docs/performance.md", "ctest --preset test -R experiment/ways"), ("docs/performance.md", "script/bench ways"),
        ("docs/performance.md", "script/bench origination"), ("docs/performance.md", "script/bench interception"),
        ("docs/performance.md", "script/bench limits"), ("docs/performance.md", "script/bench cost"),
        ("docs/performance.md", "script/profile"), ("docs/reliability.md", "script/simulate"),
        ("docs/testing.md", "script/simulate"), ("docs/testing.md", "lab/mutations")],
}

ORIGINATE = "upstreams:\n  api: { match: api.example.com, https: originate }\n"
INTERCEPT = "upstreams:\n  api: { match: api.example.com, https: intercept }\n"
GITHUB = ("version: 1\nupstreams:\n  github: { match: api.github.com, limits: [ %s ] }\n"
          % "window: { reservoir: 5000, interval: 1h, name: hour }")
PERMITS = "upstreams:\n  db: { permits: true, maxConcurrent: 8 }\n"
VIA = "1.1 penstock"
SLOW = ("javac", "python3")  # once is enough for `penstock doctor` to try these, in seven ways


def write_log(folder, *names):
    """Event logs of two requests to github each, and new.yaml."""
    for name in names:
        lines = "".join(json.dumps({"ts": f"2026-11-21T09:30:00.{n}00000Z", "event": "dispatch", "id": f"{name}{n}",
                                    "upstream": "github", "host": "api.github.com", "path": "/", "waitMs": 1}) + "\n"
                        for n in range(2))
        folder.write(f"here/{name}", lines.encode())
    folder.write("here/new.yaml", GITHUB.encode())


def setUpModule():
    OnMachine.machine = Machine()
    unittest.addModuleCleanup(OnMachine.machine.end)


def runs(page, first):
    """The test is given the block of the page that begins so."""
    def decorate(test):
        TAKEN.append((page, first))

        @functools.wraps(test)
        def with_block(self):
            test(self, find(page, first))
        return with_block
    return decorate


class Every(unittest.TestCase):
    """Needs nothing but the pages."""

    def test_block_is_run_or_has_a_reason(self):
        excused = [place for places in ELSEWHERE.values() for place in places]
        known = [find(*place) for place in TAKEN + excused]
        every = [block for page in pages() for block in blocks(page)]
        self.assertEqual([f"{block.page}: {block.first}" for block in every if block not in known], [])
        self.assertEqual(len(known), len(every), "one has two tests, or a test and a reason")
        print(f"{len(TAKEN)} blocks are run, {len(excused)} are not", flush=True)

    def test_script_that_is_not_run_is_there_and_knows_the_options(self):
        for block in (find(*place) for places in ELSEWHERE.values() for place in places):
            for name, words in re.findall(r"^((?:script|lab)/\w+)(?= |$)([^#\n&]*)", block.text, re.MULTILINE):
                self.assertTrue(os.access(os.path.join(ROOT, name), os.X_OK), name)
                for option in re.findall(r" (--[a-z][a-z-]+)", words.partition(" -- ")[0]):
                    self.assertTrue(self.knows(name, option), f"{block.page}: {name} {option}")

    @staticmethod
    def knows(script, option):
        """In its own text, or in a program of the laboratory that it calls."""
        lab = {"script/bench": ("lab/bench", "lab/experiment"), "script/simulate": ("lab/simulation",),
               "script/profile": ("lab/bench",)}
        places = [os.path.join(ROOT, at) for at in (script, *lab.get(script, ()))]
        return subprocess.run(["grep", "-rqe", f"{option}\\b", *places], check=False).returncode == 0


class Readme(OnMachine):
    @runs("README.md", "build/release/penstock exec --limit api.github.com")
    def test_exec_holds_one_program(self, block):
        self.play(block)
        self.assertEqual(self.seen(), [("api.github.com", "/zen", VIA)])
        self.assertEqual(os.listdir(self.folder.path("home")), [], "it leaves nothing behind")

    @runs("README.md", "curl -x http://127.0.0.1:3128 http://example.com/")
    def test_what_to_try_is_answered(self, block):
        daemon = self.start()
        said = self.play(block)
        self.assertEqual(said.count("hello\n"), 3)
        for part in ('"inFlight"', "penstock_build_info{", "  what is happening\n", "  why "):
            self.assertIn(part, said)
        self.assertEqual(self.seen(self.plain), 2 * [("example.com", "/", VIA)])
        self.assertEqual(self.tunnels(daemon, 3), [None, None, True])

    @runs("README.md", "penstock check penstock.yaml")
    def test_the_configuration_is_good_and_runs(self, block):
        self.config(block.yaml)
        with self.playing(block) as shell:
            self.assertEqual(shell.stdout.readline(), "penstock.yaml: ok\n")
            while "listening on http://127.0.0.1:3128, admin" not in (line := shell.stderr.readline()):
                self.assertTrue(line, "it ended")
            self.run_client("curl", "-x", "http://127.0.0.1:3128", "http://api.partner.example/")
            self.assertEqual(self.seen(), [("api.partner.example", "/", VIA)])
            status = json.loads(self.run_client("curl", "http://127.0.0.1:9128/status"))
            os.kill(status["reload"]["pid"], signal.SIGTERM)


class Clients(OnMachine):
    def start_for_all(self):
        """What the page says that its examples want."""
        return self.start(find("docs/clients.md", "export http_proxy=").yaml)

    @runs("docs/clients.md", "penstock exec --limit api.example.com=4/s")
    def test_the_first_minute(self, block):
        self.play(block)
        self.assertEqual(self.calls(), ["program "])
        self.assertEqual(self.seen(), [("api.example.com", "/", VIA)])

    @runs("docs/clients.md", 'eval "$(penstock env)"      # for this shell')
    def test_variables_for_this_shell(self, block):
        self.play(block)
        for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
            self.assertEqual(self.after[name], "http://127.0.0.1:3128")
        self.assertEqual((self.after["no_proxy"], self.after["NO_PROXY"]), ("127.0.0.1", "127.0.0.1"))
        self.assertEqual(self.after["NODE_USE_ENV_PROXY"], "1")
        self.assertIn("-Dhttps.proxyPort=3128", self.after["JAVA_TOOL_OPTIONS"])

    @runs("docs/clients.md", "penstock exec --limit api.example.com=25/s")
    def test_trust(self, block):
        self.config(INTERCEPT)
        self.uninstall(*SLOW)
        said = self.play(block)
        self.assertEqual(self.seen(), 2 * [("api.example.com", "/", VIA)])
        for program in ("curl", "wget", "git", "node"):
            self.assertRegex(said, rf"(?m)^{program} .*: ok$")

    @runs("docs/clients.md", "export http_proxy=http://127.0.0.1:3128")
    def test_curl_and_wget(self, block):
        daemon = self.start_for_all()
        self.assertEqual(self.play(block), 4 * "hello\n")
        self.assertEqual(self.seen(), [("api.example.com", "/", by) for by in (None, VIA, VIA, VIA)])
        self.assertEqual(self.tunnels(daemon, 4), [True, None, None, None])

    @runs("docs/clients.md", "penstock ca init\npenstock exec")
    def test_curl_intercepted(self, block):
        self.config(INTERCEPT)
        self.assertTrue(self.play(block).endswith("hello\n"))
        self.assertEqual(self.seen(), [("api.example.com", "/", VIA)])

    @runs("docs/clients.md", "git config --global http.proxy")
    def test_git(self, block):
        self.make_repository()
        daemon = self.start_for_all()
        self.play(block)
        for way in ("by-tunnel", "by-gateway"):
            self.assertEqual(self.folder.read(f"here/{way}/big.bin"), self.folder.read("work/big.bin"))
        ways = [by for _, _, by in self.seen()]
        self.assertEqual(ways, 3 * [None] + 3 * [VIA])
        self.assertEqual(self.tunnels(daemon, 4), [True, None, None, None])

    @runs("docs/clients.md", 'eval "$(penstock env)"\nnode')
    def test_fetch_of_node(self, block):
        daemon = self.start_for_all()
        self.assertEqual(self.play(block), "404\n")
        self.assertEqual(self.seen(), [("api.example.com", "/v1/models", None)])
        self.assertEqual([event["tunnel"] for event in daemon.wait_for(1, "complete")], [True])

    @runs("docs/clients.md", "OPENAI_BASE_URL=")
    def test_gateway_for_node(self, block):
        self.start("upstreams:\n  openai: { baseUrl: https://api.openai.com }\n")
        self.play(block)
        self.assertEqual(self.seen(), [("api.openai.com", "/v1/models", VIA)])

    @runs("docs/clients.md", "export JAVA_TOOL_OPTIONS=")
    def test_properties_of_java(self, block):
        self.play(block)
        done = subprocess.run(["java", "-XshowSettings:properties", "-version"], env=self.after, capture_output=True,
                              text=True, timeout=PATIENCE, check=True)
        for scheme in ("http", "https"):
            self.assertRegex(done.stderr, rf"\s{scheme}.proxyHost = 127.0.0.1\s+{scheme}.proxyPort = 3128\s")


class Https(OnMachine):
    @runs("docs/https.md", 'eval "$(penstock env)" ')
    def test_tunnels(self, block):
        daemon = self.start()
        said = self.play(block)
        self.assertIn("as a tunnel to api.example.com:443", said)
        self.assertEqual(self.seen(), [("api.example.com", "/", None)])
        self.assertEqual([event["method"] for event in daemon.wait_for(1, "complete")], ["CONNECT"])

    @runs("docs/https.md", "curl -x http://127.0.0.1:3128 http://api.github.com/zen")
    def test_origination(self, block):
        self.start(block.yaml)
        self.play(block)
        self.assertEqual(self.seen(), [("api.github.com", "/zen", VIA)])

    @runs("docs/https.md", "OPENAI_BASE_URL=")
    def test_gateway(self, block):
        self.start(block.yaml)
        self.play(block)
        self.assertEqual(self.seen(), [("api.openai.com", "/v1/models", VIA)])

    @runs("docs/https.md", "penstock ca init")
    def test_interception(self, block):
        self.config(block.yaml)
        self.uninstall(*SLOW)
        said = self.play(block)
        self.assertEqual(self.seen(), [("api.stripe.com", "/v1", VIA)])
        self.assertIn("/.cache/penstock/", self.after["CURL_CA_BUNDLE"])
        self.assertRegex(said, r"(?m)^curl \S+: ok$")

    @runs("docs/https.md", "penstock exec --limit api.stripe.com")
    def test_interception_without_a_file(self, block):
        self.play(block)
        self.assertEqual(self.seen(), [("api.stripe.com", "/v1", VIA)])


class WithPermits(OnMachine):
    def assert_holds_permits(self, block, daemon, weights, shell="sh"):
        """Each program of the block is run once, and sees that a permit is out."""
        for name in ("migrate", "report"):
            self.stand_in(f"here/{name}", "curl -s http://127.0.0.1:9128/status | "
                                          "jq '.upstreams[] | select(.name == \"db\").inFlight'")
        self.assertEqual(self.play(block, shell=shell), len(weights) * "1\n")
        ended = daemon.wait_for(len(weights), "complete")
        self.assertEqual([(event["permit"], event.get("weight")) for event in ended],
                         [(True, weight) for weight in weights])
        self.assertEqual(self.calls(), ["migrate ", "report "][:len(weights)])


class Permits(WithPermits):
    @runs("docs/permits.md", "penstock permit db")
    def test_the_program(self, block):
        self.assert_holds_permits(block, self.start(block.yaml), weights=[None, 2])

    @runs("docs/permits.md", "exec 3<>/dev/tcp")
    def test_bash_alone(self, block):
        self.assert_holds_permits(block, self.start(PERMITS), weights=[None], shell="bash")

    def test_bash_is_told_that_there_is_none(self):
        self.start("upstreams:\n  other: { permits: true }\n")
        self.assertEqual(self.play(find("docs/permits.md", "exec 3<>/dev/tcp"), shell="bash"), "")
        self.assertIn("no permit: Penstock: no upstream of this name has", self.said)


class CommandLine(WithPermits):
    def assert_prints(self, block, codes=(0,)):
        """The command prints what the page shows. A line of dots there stands for any lines."""
        command = block.first.removeprefix("$ ")
        said = self.play(block, command, codes=codes) + self.said
        pattern = re.escape(block.output().rstrip("\n")).replace(re.escape("  ..."), "(?:.|\n)*")
        self.assertRegex(said.replace(self.folder.path("home"), "/home/me").rstrip("\n"), f"\\A{pattern}\\Z")

    @runs("docs/command-line.md", "$ penstock check")
    def test_check_says_what_is_wrong(self, block):
        self.config("version: 1\nupstreams:\n  github:\n    match: api.github.com\n    maxConcurent: 20\n"
                    "    rate: 15/s\nproxy:\n  listen: 127.0.0.1:3128\n  grace: 30\n")
        self.assert_prints(block, codes=(1,))

    @runs("docs/command-line.md", "$ penstock explain --config penstock.yaml http")
    def test_explain_says_how_a_request_would_travel(self, block):
        self.config("redis: { url: redis://127.0.0.1:6379/0 }\nupstreams:\n  github:\n    match: api.github.com\n"
                    "    maxConcurrent: 20\n    group: path:/repos/{repo}\n    rate: 15/s\n    limits:\n"
                    "      - window: { reservoir: 5000, interval: 1h, per: group, shared: false }\n"
                    "    queue: { maxWait: 5s }\n  other: { match: '*.github.com' }\n")
        self.assert_prints(block)

    @runs("docs/command-line.md", "$ penstock explain --config penstock.yaml POST")
    def test_explain_says_which_routes_fit(self, block):
        self.config("upstreams:\n  github:\n    match: api.github.com\n    routes:\n"
                    "      - { match: { path: /search/code }, rate: 10/m }\n"
                    "      - { match: { path: /search }, rate: 30/m }\n"
                    "      - { match: { method: [POST, PATCH, PUT, DELETE] }, weight: 5 }\n"
                    "      - { match: { header: X-Tier=free }, weight: 2, name: free }\n")
        self.assert_prints(block)

    @runs("docs/command-line.md", 'eval "$(penstock env)"\npenstock env --format fish')
    def test_env_has_a_format_for_each(self, block):
        lines = block.text.splitlines(keepends=True)
        [fish] = [line for line in lines if line.endswith("# in fish\n")]
        self.play(block, "".join(line for line in lines if line != fish))
        self.assertEqual(self.after["https_proxy"], "http://127.0.0.1:3128")
        for name in (".env", "proxy.env"):
            self.assertRegex(self.folder.read(f"here/{name}").decode(), r"(?m)^http_proxy=.?http://127\.0\.0\.1:3128\b")
        self.play(block, fish, shell="fish")
        self.assertEqual(self.after["https_proxy"], "http://127.0.0.1:3128")

    @runs("docs/command-line.md", "penstock exec --preset openai,github")
    def test_exec_with_and_without_a_file(self, block):
        self.config(ORIGINATE)
        self.assertEqual(self.play(block), 2 * "404\n", "which is what the origin says")
        self.assertEqual(self.seen(), [(name, "/v1/models", VIA) for name in ("api.openai.com", "api.stripe.com")])
        self.assertIn(("example.com", "/", VIA), self.seen(self.plain))
        self.assertEqual(self.folder.read("here/example.com/index.html"), b"hello\n")

    @runs("docs/command-line.md", "penstock permit db")
    def test_permit_runs_a_command(self, block):
        self.assert_holds_permits(block, self.start(PERMITS), weights=[None, 2])

    @runs("docs/command-line.md", "$ penstock ca init")
    def test_ca_init_says_what_comes_next(self, block):
        self.config(INTERCEPT)
        self.assert_prints(block)

    @runs("docs/command-line.md", "$ penstock doctor")
    def test_doctor_tries_what_is_installed(self, block):
        self.play(block, "penstock ca init")
        said = self.play(block, block.first.removeprefix("$ "))
        shown, tried = (re.findall(r"^(.*?) [\d.]+(.*: ok)$", text, re.MULTILINE) for text in (block.output(), said))
        self.assertLessEqual(set(shown), set(tried), said)
        self.assertRegex(said, r"\nnot installed: \w")

    @runs("docs/command-line.md", "penstock reload")
    def test_reload_finds_the_proxy(self, block):
        self.start()
        etc = "/etc/penstock.yaml"
        self.addCleanup(os.remove, etc)
        self.start("proxy: { listen: 127.0.0.1:3129 }\nadmin: { listen: 127.0.0.1:9129 }\n", etc)
        other = self.folder.path("other.yaml")
        self.start("proxy: { listen: 127.0.0.1:3130 }\nadmin: { listen: 127.0.0.1:9200 }\n", other)
        files = (self.folder.path("daemon.yaml"), etc, other)
        self.assertEqual(self.play(block), "".join(f"reloaded {file}\n" for file in files))

    @runs("docs/command-line.md", "penstock resume")
    def test_resume_finds_the_upstream(self, block):
        github = "upstreams:\n  github: { match: api.github.com }\n"
        self.start(github)
        self.start("proxy: { listen: 127.0.0.1:3130 }\nadmin: { listen: 127.0.0.1:9200 }\n" + github,
                   self.folder.path("other.yaml"))
        self.assertEqual(self.play(block), 2 * "github: no pause that this process knows of\n")

    @runs("docs/command-line.md", "penstock ahead")
    def test_ahead_finds_the_upstream(self, block):
        github = "upstreams:\n  github: { match: api.github.com }\n"
        self.start(github)
        self.start("proxy: { listen: 127.0.0.1:3130 }\nadmin: { listen: 127.0.0.1:9200 }\n" + github,
                   self.folder.path("other.yaml"))
        said = [json.loads(line) for line in self.play(block).splitlines()]
        self.assertEqual([one["upstream"] for one in said], ["api.example.com:443", "github", "api.example.com:80"])
        self.assertEqual([one["waitMs"] for one in said], 3 * [0])

    @runs("docs/command-line.md", "penstock top")
    def test_top_finds_the_proxy(self, block):
        self.start()
        etc = "/etc/penstock.yaml"
        self.addCleanup(os.remove, etc)
        self.start("proxy: { listen: 127.0.0.1:3129 }\nadmin: { listen: 127.0.0.1:9129 }\n", etc)
        self.start("proxy: { listen: 127.0.0.1:3130 }\nadmin: { listen: 127.0.0.1:9200 }\n",
                   self.folder.path("other.yaml"))
        self.assertEqual(self.play(block).count("  what is happening\n"), 3)

    @runs("docs/command-line.md", "penstock simulate")
    def test_simulate_shows_both_courses(self, block):
        write_log(self.folder, "events.jsonl", "a.jsonl", "b.jsonl")
        self.config(GITHUB)
        said = self.play(block)
        self.assertEqual(len(re.findall(r"(?m)^github, 2 requests$", said)), 2)
        self.assertIn('"beyondQuota":0', said)

    @runs("docs/command-line.md", "penstock presets ")
    def test_presets_are_listed_and_shown(self, block):
        said = self.play(block)
        for name in ("github", "openai", "stripe"):
            self.assertRegex(said, rf"(?m)^{name}\b")
        self.assertIn("api.github.com", said)

    @runs("docs/command-line.md", "penstock init")
    def test_init_writes_a_file_that_is_good(self, block):
        self.play(block)
        said = self.play(block, "penstock check penstock.yaml")
        self.assertEqual(said, "penstock.yaml: ok\nupstreams.github: 3 routes, 2 with limits of their own (4 limits)\n")

    @runs("docs/command-line.md", "penstock schema")
    def test_schema_is_the_one_of_the_tree(self, block):
        self.play(block)
        schema = json.loads(self.folder.read("here/penstock.schema.json"))
        self.assertEqual(schema, json.loads(read("config/penstock.schema.json")))

    @runs("docs/command-line.md", "penstock help exec")
    def test_help_is_that_of_the_command(self, block):
        self.assertEqual(self.play(block), self.play(block, "penstock exec --help"))


class Operating(OnMachine):
    def assert_units(self):
        """Units that systemctl was called with are units of this tree."""
        units = {word for call in self.calls() for word in call.split() if word.startswith("penstock.")}
        self.assertEqual(units - set(os.listdir(os.path.join(ROOT, "config/systemd"))), set())

    @runs("docs/operating.md", "$ penstock simulate")
    def test_new_settings_are_tried_on_a_log(self, block):
        write_log(self.folder, "events.jsonl.1")
        said = self.play(block, block.first.removeprefix("$ "))
        for label in re.findall(r"^  (\w.*?)  ", block.output(), re.MULTILINE):
            if not label.startswith("refused"):
                self.assertIn(f"\n  {label}  ", said)

    @runs("docs/operating.md", "script/package                                        # builds")
    def test_the_package_is_installed_and_started(self, block):
        made = "build/package/penstock_0.1.0_amd64.deb"
        self.stand_in("here/script/package", f"mkdir -p build/package\ntouch {made}")
        self.play(block)
        self.assertTrue(os.access(os.path.join(ROOT, "script/package"), os.X_OK))
        self.assertEqual(self.calls(), ["package ", f"apt install ./{made}",
                                        "systemctl enable --now penstock.socket penstock.service"])
        self.assert_units()

    @runs("docs/operating.md", "mkdir -p /etc/penstock")
    def test_units_find_the_file(self, block):
        self.addCleanup(subprocess.run, ["rm", "-r", "/etc/penstock"], check=True)
        self.play(block)
        self.assertEqual([call.split()[1] for call in self.calls()], ["daemon-reload", "enable", "status"])
        self.assert_units()
        file = "/etc/penstock/penstock.yaml"
        self.assertIn(file, read("config/systemd/penstock.service"))
        self.assertEqual(self.play(block, f"penstock check {file}"), f"{file}: ok\n")

    @runs("docs/operating.md", "penstock env --config")
    def test_services_get_the_variables(self, block):
        os.mkdir("/etc/penstock")
        self.addCleanup(subprocess.run, ["rm", "-r", "/etc/penstock"], check=True)
        with open("/etc/penstock/penstock.yaml", "w", encoding="utf-8") as file:
            file.write("version: 1\n" + ORIGINATE)
        self.play(block)
        with open("/etc/penstock/clients.env", encoding="utf-8") as file:
            self.assertIn("http_proxy=http://127.0.0.1:3128\n", file.read())

    @runs("docs/operating.md", "systemctl edit penstock.socket")
    def test_another_address(self, block):
        self.play(block)
        self.assertEqual(self.calls(), ["systemctl edit penstock.socket"])
        self.assert_units()

    @runs("docs/operating.md", "docker run")
    def test_a_container_has_the_file(self, block):
        self.play(block)
        self.assertEqual(self.calls(), ["docker run -p 3128:3128 --stop-timeout 45 -v "
                                        f"{self.here}/penstock.yaml:/etc/penstock/penstock.yaml:ro penstock"])

    @runs("docs/configuration.md", "penstock reload")
    def test_a_reload(self, block):
        daemon = self.start(ORIGINATE)
        self.assertEqual(self.play(block), f"reloaded {daemon.config}\n")

    @runs("docs/events.md", "jq ")
    def test_failures_are_counted(self, block):
        lines = re.findall(r"^\{.*\}$", read("docs/events.md"), re.MULTILINE)
        self.folder.write("here/events.log", "\n".join(lines).encode())
        self.assertEqual(self.play(block).split(), ["1", "api.example.com:80", "connection_refused"])

    @runs("docs/metrics.md", "prometheus ")
    def test_prometheus_takes_its_file(self, block):
        self.assertIn("rules found", self.play(block))
        self.assertEqual(self.calls(), ["prometheus --config.file=dashboards/prometheus.yml"])

    @runs("docs/metrics.md", "sudo install")
    def test_grafana_is_provisioned(self, block):
        self.play(block)
        self.assertEqual(self.calls()[-1], "systemctl restart grafana-server")
        for ours, theirs in (("penstock.json", "dashboards/penstock/penstock.json"),
                             *((f"provisioning/{name}", f"provisioning/{name}")
                               for name in ("dashboards/penstock.yml", "datasources/penstock.yml"))):
            with open(f"/etc/grafana/{theirs}", encoding="utf-8") as file:
                self.assertEqual(file.read(), read(f"dashboards/{ours}"))
        self.assertIn("/etc/grafana/dashboards/penstock", read("dashboards/provisioning/dashboards/penstock.yml"))
