# SPDX-License-Identifier: Apache-2.0
# The examples of docs/permits.md in Python, Node and Go: they are run as they stand, against the port that they name.
"""Those for a shell are run by shell_blocks_test.py. In a network of its own, see CMakeLists.txt."""
import os
import re
import subprocess
import unittest

from case import ARGUMENTS, read
from shell_blocks import Machine, OnMachine
from stage import PATIENCE

ONE = "upstreams:\n  db: { permits: true, maxConcurrent: 1 }\n"
# What a program asks the admin port about itself while it works.
OUT = "http://127.0.0.1:9128/status"

PYTHON = f'''
import json, sys, urllib.request

def out():
    with urllib.request.urlopen("{OUT}") as answer:
        return json.load(answer)["upstreams"][0]["inFlight"]

@permit("db")
def decorated(word):
    return f"{{word}} {{out()}}"

with permit("db") as granted:
    print(granted, out())
print(decorated("once"))
print(decorated(word="twice"))
try:
    with permit("db"):
        raise ValueError("of the work")
except ValueError as error:
    print(error)
with permit("db", {{"Penstock-Weight": "1"}}):
    try:
        with permit("db", {{"Penstock-Max-Wait": "0s"}}):
            print("never")
    except RuntimeError as error:
        print(error)
'''

NODE = f'''
import {{ withPermit }} from './permit.mjs';

const out = async () => (await (await fetch('{OUT}')).json()).upstreams[0].inFlight;
console.log(await withPermit('db', out));
await withPermit('db', async () => {{ throw new Error('of the work'); }}).catch((error) => console.log(error.message));
await withPermit('db', () => withPermit('db', () => 'never', {{ headers: {{ 'Penstock-Max-Wait': '0s' }} }}))
  .catch((error) => console.log(error.message));
console.log(await withPermit('db', out));
'''

GO = f'''package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
)

%s
func out() int {{
	answer, err := http.Get("{OUT}")
	if err != nil {{
		panic(err)
	}}
	defer answer.Body.Close()
	var status struct{{ Upstreams []struct{{ InFlight int }} }}
	if err := json.NewDecoder(answer.Body).Decode(&status); err != nil {{
		panic(err)
	}}
	return status.Upstreams[0].InFlight
}}

func main() {{
	for i := 0; i < 2; i++ {{
		fmt.Println(withPermit("db", func() error {{
			fmt.Println(out())
			return nil
		}}))
	}}
	fmt.Println(withPermit("db", func() error {{ return errors.New("of the work") }}))
	fmt.Println(withPermit("no", func() error {{ return errors.New("never") }}))
}}
'''


def setUpModule():
    OnMachine.machine = Machine()
    unittest.addModuleCleanup(OnMachine.machine.end)


def example(kind):
    """The page's one block in that language."""
    [found] = re.findall(rf"^```{kind}\n(.*?)^```$", read("docs/permits.md"), re.MULTILINE | re.DOTALL)
    return found


class Examples(OnMachine):
    def run_program(self, *command):
        done = subprocess.run(command, env=self.environment(), cwd=self.here, capture_output=True, text=True,
                              timeout=PATIENCE, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout.splitlines()

    def assert_all_returned(self, daemon, dispatched):
        """Each permit that was granted has come back, by the client's own doing."""
        ended = daemon.wait_for(dispatched, "complete")
        self.assertEqual(len(ended), dispatched)
        self.assertEqual({(event["permit"], event["status"]) for event in ended}, {(True, 200)})
        self.assertEqual([event["id"] for event in daemon.events() if event["event"] == "error"], [])

    def test_python(self):
        daemon = self.start(ONE)
        self.folder.write("here/example.py", (example("python") + PYTHON).encode())
        said = self.run_program("python3", "example.py")
        self.assertRegex(said[0], r"^\S{11} 1$")
        self.assertEqual(said[1:4], ["once 1", "twice 1", "of the work"])
        self.assertIn("db queue", said[4])
        self.assert_all_returned(daemon, 5)

    def test_node(self):
        daemon = self.start(ONE)
        self.folder.write("here/permit.mjs", example("js").encode())
        self.folder.write("here/example.mjs", NODE.encode())
        said = self.run_program("node", "example.mjs")
        self.assertEqual([said[0], said[1], said[3]], ["1", "of the work", "1"])
        self.assertIn("db queue", said[2])
        self.assert_all_returned(daemon, 4)

    def test_go(self):
        daemon = self.start(ONE)
        self.folder.write("here/example.go", (GO % example("go")).encode())
        cache = os.path.join(os.path.dirname(ARGUMENTS.classes), "go")
        subprocess.run(["go", "build", "-o", "example", "example.go"], cwd=self.here, check=True, timeout=900,
                       env={"PATH": os.environ["PATH"], "HOME": self.folder.name, "GO111MODULE": "off", "GOCACHE": cache})
        said = self.run_program(os.path.join(self.here, "example"))
        self.assertEqual(said[:5], ["1", "<nil>", "1", "<nil>", "of the work"])
        self.assertIn("404 Penstock: no upstream of this name", said[5])
        self.assert_all_returned(daemon, 3)
