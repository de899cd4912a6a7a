# SPDX-License-Identifier: Apache-2.0
"""What the test of `penstock top` needs around it: an admin port that says what it is told to, and a real terminal."""

import contextlib
import http.server
import json
import pathlib
import shlex
import socket
import subprocess
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
PATIENCE = 30  # seconds, for anything that is waited for
TWO_HOURS = 7300


def until(condition, what):
    """The first true answer of `condition`, asked again and again."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if answer := condition():
            return answer
        time.sleep(0.02)
    raise AssertionError(f"waited {PATIENCE} s in vain for {what() if callable(what) else what}")


def status():
    """The one that pictures are made of; its configuration is two hours old."""
    told = json.loads((HERE / "status.json").read_text(encoding="utf-8"))
    told["loadedAt"] = int(time.time()) - TWO_HOURS
    return told


class Admin:
    """An admin port: /status answers with `told`, with `raw` bytes if there are any, or, while `endless` is set, with an
    answer that never ends and never stands still, so that no patience of a client's with a step is over."""

    def __init__(self):
        admin = self
        self.told, self.raw, self.asked = status(), None, 0
        self.endless = threading.Event()
        self.ended = threading.Event()

        class Answers(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                admin.asked += 1
                body = admin.raw if admin.raw is not None else json.dumps(admin.told).encode()
                with contextlib.suppress(ConnectionError):  # who asked may have gone
                    self.send_response(200 if self.path == "/status" else 404)
                    self.send_header("Content-Length", str(len(body)))
                    self.end_headers()
                    self.wfile.write(body[:1])
                    while admin.endless.is_set() and not admin.ended.wait(0.02):
                        self.wfile.write(b" ")
                    self.wfile.write(body[1:])

            def version_string(self):
                return "test"

            def log_message(self, *_):
                pass

        Answers.protocol_version = "HTTP/1.1"
        self.answers = Answers
        self._held = socket.socket()  # it never listens: nobody else is given the port while this server is away
        self._held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._held.bind(("127.0.0.1", 0))
        self.port = self._held.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.come_back()

    def _serve(self):
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def leave(self):
        """Its port is closed from now on, until come_back()."""
        self.server.shutdown()
        self.server.server_close()

    def come_back(self):
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", self.port), self.answers)
        self._serve()

    def wait_for_polls(self, count=2):
        """Until it has been asked so often from now on: then an answer from now on has been shown, or will never be."""
        until_asked = self.asked + count
        until(lambda: self.asked >= until_asked, "more questions")

    def close(self):
        self.ended.set()
        self.leave()
        self._held.close()


class Terminal:
    """A window of tmux with an interactive bash in it."""

    PROMPT = "ready> "

    def __init__(self, folder, columns, rows, environment=()):
        self.folder, self.answers = pathlib.Path(folder), 0
        self.socket = str(self.folder / "tmux")
        shell = ["env", "LC_ALL=C.UTF-8", *environment, f"PS1={self.PROMPT}", "bash", "--norc", "--noprofile", "-i"]
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", str(columns), "-y", str(rows), shlex.join(shell))
        self.tmux("set-option", "-g", "status", "off")
        self.tmux("resize-window", "-x", str(columns), "-y", str(rows))
        self.await_prompt()

    def tmux(self, *words):
        command = ["tmux", "-u", "-S", self.socket, *words]
        ran = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, encoding="utf-8", errors="replace")
        if ran.returncode != 0:
            raise AssertionError(f"{command}: {ran.stderr}")
        return ran.stdout

    def close(self):
        subprocess.run(["tmux", "-S", self.socket, "kill-server"], capture_output=True, timeout=PATIENCE)

    def type(self, *keys):
        self.tmux("send-keys", *keys)

    def run(self, line):
        self.tmux("send-keys", "-l", line)
        self.type("Enter")

    def resize(self, columns, rows):
        self.tmux("resize-window", "-x", str(columns), "-y", str(rows))

    def picture(self, *options):
        return self.tmux("capture-pane", "-p", *options)

    def state(self):
        """Is the second screen on, is there a cursor, are lines wrapped?"""
        return self.tmux("display-message", "-p", "#{alternate_on} #{cursor_flag} #{wrap_flag}").strip()

    def shows(self, text):
        until(lambda: text in self.picture(), lambda: f"{text!r} in\n{self.picture()}")

    def await_prompt(self):
        until(lambda: self.picture().rstrip("\n").endswith(self.PROMPT.rstrip()), lambda: f"a prompt in\n{self.picture()}")

    def answer_of(self, line):
        """What a command of the shell prints."""
        self.answers += 1
        self.run(f"clear; {line} > {self.folder}/answer; echo end-$((1000 + {self.answers}))")
        self.shows(f"end-{1000 + self.answers}")
        return (self.folder / "answer").read_text(encoding="utf-8").strip()
