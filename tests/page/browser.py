# SPDX-License-Identifier: Apache-2.0
"""Debian's Chromium, driven by browser.mjs."""

import json
import pathlib
import subprocess

HERE = pathlib.Path(__file__).resolve().parent


class Browser:
    def __init__(self, node, chromium):
        self.child = subprocess.Popen([node, str(HERE / "browser.mjs"), chromium], stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, text=True)
        self.count = 0
        assert json.loads(self.child.stdout.readline())["ready"]

    def ask(self, **command):
        self.child.stdin.write(json.dumps(command) + "\n")
        self.child.stdin.flush()
        answer = json.loads(self.child.stdout.readline())
        if "error" in answer:
            raise AssertionError(f"{command}: {answer['error']}")
        return answer["result"]

    def open(self, url, **how):
        self.count += 1
        tab = Tab(self, self.count)
        tab.ask("open", url=url, **how)
        return tab

    def close(self):
        self.child.stdin.close()
        self.child.wait()
        self.child.stdout.close()


class Tab:
    """One page in a context of its own."""

    def __init__(self, browser, number):
        self.browser, self.number = browser, number

    def ask(self, what, **more):
        return self.browser.ask(do=what, page=self.number, **more)

    def evaluate(self, script):
        return self.ask("evaluate", script=script)

    def press(self, *keys):
        for key in keys:
            self.ask("press", key=key)

    def close(self):
        self.ask("close")
