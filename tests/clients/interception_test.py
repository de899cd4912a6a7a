# SPDX-License-Identifier: Apache-2.0
# `https: intercept`: clients ask for https as ever, and each request is governed; all that they know of it is what
# `penstock exec` has put into their environment. In the same run they ask an origin that no entry names.
"""Whom clients trust of themselves has signed for FAR alone, and nobody but the proxy trusts who has signed for NAME."""
import shlex

from case import ARGUMENTS, program
from limited import COUNT, EveryClient, Limited
from origin import PIECES, Origin
from stage import FAR, NAME, Identity, Program

FAR_COUNT = 2
# What the origin hears of who asks: by programs, whose requests are to be theirs and not ours.
AGENTS = {"curl.sh": "curl/", "wget.sh": "Wget/", "requests_client.py": "python-requests/",
          "httpx_client.py": "python-httpx/", "aiohttp_client.py": "Python/", "urllib_client.py": "Python-urllib/",
          "undici.mjs": "undici", "fetch.mjs": "node", "axios.mjs": "axios/", "openai.mjs": "OpenAI/JS ",
          "client.rb": "Ruby", "lwp.pl": "libwww-perl/", "Client.java": "Java-http-client/", "Connections.java": "Java/"}


class Intercepted(Limited):
    """The proxy is there for one command at a time."""

    upstream = "    https: intercept\n    tls: {{ ca: {ca} }}\n"
    elsewhere = ("access: {{ connectPorts: [{port}, {far}] }}\n"
                 "intercept: {{ ca: {folder}/authority/ca.pem, key: {folder}/authority/key.pem }}")

    def start_origin(self):
        super().start_origin()
        self.far_identity = Identity(self.folder.path("far"), FAR)
        self.far = Origin(self.folder.name, self.far_identity.tls)
        self.addCleanup(self.far.stop)

    def start_proxy(self):
        self.proxy = Program(ARGUMENTS.program, self.folder.name, self.settings())
        self.run_client(*self.proxy.command("ca", "init"))

    def known(self):
        return super().known() | {"far": self.far.port, "folder": self.folder.name}

    def variables(self):
        """What clients are told without us."""
        return self.far_identity.variables()

    def base(self):
        return f"https://{NAME}:{self.origin.port}"

    def far_base(self):
        return f"https://{FAR}:{self.far.port}"

    def executing(self, *words):
        return [*self.proxy.command("exec"), "--", *words]

    def execute(self, script, *words, **variables):
        """A script for the shell, which knows the words as $1 and so on, and the origins as $near and $far."""
        done = self.try_client(*self.executing("/bin/sh", "-c", f"near={self.base()} far={self.far_base()}; {script}", "sh",
                                               *words), variables=self.variables() | variables)
        self.assert_sane(done.stderr.decode())
        return done

    def assert_all_said(self, done, expected):
        self.assertEqual(sorted(done.stdout.decode().splitlines()), sorted(expected), done.stderr.decode()[-2000:])
        self.assertEqual(done.returncode, 0, done.stderr.decode()[-2000:])

    def ask(self, name, **variables):
        far = [f"far-{number}" for number in range(1, FAR_COUNT + 1)]
        self.ask_near(name, then=f'&& "$@" $far/held/far- {FAR_COUNT}', said=far, **variables)
        self.assert_far_was_a_tunnel(FAR_COUNT)

    def ask_near(self, name, *before, then="", said=(), **variables):
        """A program of ours, by another, asks for several things at once, and then for what more there is to say."""
        done = self.execute(f'"$@" $near/held/ {COUNT} {then}', *before, *program(name), **variables)
        numbers = range(1, COUNT + 1)
        self.assert_all_said(done, [f"hello {word}" for word in (*numbers, *said)])
        self.assert_came([("GET", f"/held/{number}") for number in numbers], AGENTS[name])
        self.assert_held(COUNT)
        return done

    def assert_came(self, requests, agent):
        """To the origin, whatever its order: as the client sent them, but for one line of ours."""
        self.assertEqual(sorted((method, path) for method, path, _ in self.origin.seen), sorted(requests))
        for _, _, fields in self.origin.seen:
            self.assertEqual((fields["Host"], fields["Via"]), (f"{NAME}:{self.origin.port}", "1.1 penstock"))
            self.assertTrue(fields["User-Agent"].startswith(agent), fields["User-Agent"])

    def check_events(self, ended, count):
        super().check_events([event for event in ended if event["host"] == NAME], count)

    def assert_far_was_a_tunnel(self, count):
        """Nobody on the way has added a line to what was said inside."""
        self.assertEqual(len(self.far.seen), count)
        for _, _, fields in self.far.seen:
            self.assertEqual((fields["Host"], fields["Via"]), (f"{FAR}:{self.far.port}", None))
        flown = [event for event in self.proxy.events() if event["event"] == "dispatch" and event["host"] == FAR]
        self.assertTrue(flown)
        for event in flown:
            self.assertEqual((event["method"], event["tunnel"]), ("CONNECT", True))
            self.assertFalse(event["path"])


class Interception(Intercepted, EveryClient):
    def test_fetch_of_node(self):
        """Nobody need tell it of the proxy."""
        self.ask("fetch.mjs")

    def test_openai(self):
        self.chat()

    def test_openai_with_undici(self):
        self.chat("undici")

    def chat(self, *arguments, **variables):
        chats = [*program("openai.mjs"), "COUNT", *arguments]
        done = self.execute(" && ".join(
            f"OPENAI_BASE_URL=${base}/v1 {shlex.join(chats).replace('COUNT', str(count))}"
            for base, count in (("near", COUNT), ("far", FAR_COUNT))), OPENAI_API_KEY="sk-of-the-tests", **variables)
        self.assert_all_said(done, [f"{number} {piece}" for count in (COUNT, FAR_COUNT)
                                    for number in range(1, count + 1) for piece in PIECES])
        self.assert_came([("POST", "/v1/chat/completions")] * COUNT, AGENTS["openai.mjs"])
        self.assertEqual({fields["Authorization"] for _, _, fields in self.origin.seen}, {"Bearer sk-of-the-tests"})
        self.assert_held(COUNT)
        self.assert_far_was_a_tunnel(FAR_COUNT)

    def test_openai_prints_each_event_of_a_stream_before_the_next_is_sent(self):
        self.assert_streams(*self.executing(*program("openai.mjs"), "1"))

    def run_git(self, script):
        done = self.execute(f"set -e; {script}; git clone --quiet $far/git/project.git far-clone")
        self.assert_all_said(done, [])

    def clone_at_once(self):
        super().clone_at_once()
        self.assert_cloned("far-clone")
        self.assert_came([(method, "/git/project.git" + path) for _ in range(len(self.origin.seen) // 3)
                          for method, path in (("GET", "/info/refs?service=git-upload-pack"),
                                               ("POST", "/git-upload-pack"), ("POST", "/git-upload-pack"))], "git/")
        self.assert_far_was_a_tunnel(3)

    def test_lwp_of_perl(self):
        self.ask("lwp.pl")

    def test_java_with_a_proxy_selector(self):
        self.ask_near("Client.java", **self.java())

    def test_java_by_its_properties(self):
        """Other programs do not look at the variable that ours takes first."""
        self.ask_near("Client.java", "env", "--unset=http_proxy", **self.java())

    def test_java_knows_a_single_store_and_so_the_systems_authorities_with_ours_alone(self):
        done = self.ask_near("Connections.java", then='&& ! "$@" $far/held/ 1', **self.java())
        self.assertIn("unable to find valid certification path", done.stderr.decode())
        self.assert_far_was_a_tunnel(0)

    def test_java_with_a_store_of_its_own_that_knows_the_authority(self):
        store = self.far_identity.trust_store(self.folder.path("authority/ca.pem"))
        self.ask("Connections.java", **self.java(), JAVA_TOOL_OPTIONS=store)


class Refused(Intercepted):
    """One chat in three seconds; whoever comes too early is told when to come again."""

    limit = "slidingWindow: { max: 1, interval: 3s, mode: refuse }"

    def test_openai_comes_again_when_it_is_told_to(self):
        """Of itself it would come again after half a second and after another, and then give up."""
        done = self.execute(shlex.join([*program("openai.mjs"), "2"]), OPENAI_BASE_URL=self.base() + "/v1",
                            OPENAI_API_KEY="sk-of-the-tests")
        self.assert_all_said(done, [f"{number} {piece}" for number in (1, 2) for piece in PIECES])
        self.assert_apart(1, 3)
        at_once, later = [int(fields["X-Stainless-Retry-Count"]) for _, _, fields in self.origin.seen]
        self.assertEqual(at_once, 0)
        self.assertEqual(later, 1, "Retry-After-Ms, which it reads, is never too early")
        refused = [event for event in self.proxy.events() if event["event"] == "refused"]
        self.assertEqual([(event["path"], event["status"]) for event in refused], [("/v1/chat/completions", 429)] * later)
