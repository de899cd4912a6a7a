#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
# The examples of deploy/ against the built program: what they name is what it has.
#   deploy_test.py --root=. --program=build/release/penstock [unittest's arguments…]
"""Neither Docker nor Kubernetes is needed: their files are read, and the configurations in them are run, on free ports."""
import argparse
import glob
import http.client
import os
import re
import subprocess
import sys
import tempfile
import unittest
import urllib.parse

import yaml

ARGUMENTS = argparse.Namespace()
PROBES = ["startupProbe", "livenessProbe", "readinessProbe"]


def documents(path):
    with open(os.path.join(ARGUMENTS.root, path), encoding="utf-8") as file:
        return list(yaml.safe_load_all(file))


def all_of(key, tree):
    """The values of a key, wherever it stands."""
    children = tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else []
    found = [tree[key]] if isinstance(tree, dict) and key in tree else []
    return found + [value for child in children for value in all_of(key, child)]


def asked(*command):
    done = subprocess.run([ARGUMENTS.program, *command], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def of_dockerfile(pattern):
    with open(os.path.join(ARGUMENTS.root, "Dockerfile"), encoding="utf-8") as file:
        return re.search(pattern, file.read(), re.MULTILINE).group(1)


def seconds(text):
    return int(re.fullmatch(r"(\d+)s?", str(text)).group(1))


class Config:
    """One that an example has, and the program that goes by it."""

    def __init__(self, text):
        self.text = text
        self.keys = yaml.safe_load(text)
        self.proxy, self.admin = (int(self.keys[part]["listen"].split(":")[1]) for part in ("proxy", "admin"))
        (default,) = documents("config/reference.yaml")
        self.grace = seconds(self.keys["proxy"].get("grace", default["proxy"]["grace"]))

    def check(self):
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write(self.text)
            file.flush()
            code, said = asked("check", file.name)
            return code, said.replace(file.name, "it")

    def answers(self, *paths):
        """The status of each path at the port `admin`. It is asked as from outside: Host is the pod's address."""
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write(re.sub(r"(listen: [\d.]+):\d+", r"\1:0", self.text))
            file.flush()
            with subprocess.Popen([ARGUMENTS.program, "run", "--config", file.name], stdout=subprocess.DEVNULL,
                                  stderr=subprocess.PIPE, text=True) as running:
                try:
                    port = int(re.search(r"admin on http://[\d.]+:(\d+)", running.stderr.readline()).group(1))
                    return [self.status(port, path) for path in paths]
                finally:
                    running.terminate()
                    running.communicate(timeout=60)

    @staticmethod
    def status(port, path):
        client = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        client.request("GET", path, headers={"Host": "10.1.2.3:9128"})
        answer = client.getresponse().status
        client.close()
        return answer


class Files(unittest.TestCase):
    def test_each_is_yaml_and_names_no_image_but_ours_and_the_applications(self):
        version = re.match(r"penstock (\S+)", asked("--version")[1]).group(1)
        files = glob.glob("deploy/**/*.*", root_dir=ARGUMENTS.root, recursive=True)
        self.assertEqual({os.path.splitext(name)[1] for name in files}, {".yaml"})
        images = [image for name in files for image in all_of("image", documents(name))]
        self.assertEqual(set(images), {f"penstock:{version}", "application"})


class Deploy:
    def is_sound(self, config):
        self.assertEqual(config.check(), (0, "it: ok\n"))

    def lead_through(self, host, config, environment):
        """URLs that lead to the proxy; a path names an upstream."""
        urls = [value for value in environment.values() if "://" in value]
        self.assertGreater(len(urls), 2)
        for url in map(urllib.parse.urlsplit, urls):
            self.assertEqual((url.scheme, url.hostname, url.port), ("http", host, config.proxy))
            if url.path:
                self.assertIn(url.path.removeprefix("/@"), config.keys["upstreams"])
        self.assertIn(host, environment["no_proxy"].split(","))


class Compose(Deploy, unittest.TestCase):
    def setUp(self):
        (self.file,) = documents("deploy/compose/compose.yaml")
        self.service = self.file["services"]["penstock"]
        with open(os.path.join(ARGUMENTS.root, "deploy/compose/penstock.yaml"), encoding="utf-8") as file:
            self.config = Config(file.read())

    def test_configuration_is_sound_and_where_the_image_reads_it(self):
        self.is_sound(self.config)
        here, there, how = self.service["volumes"][0].split(":")
        self.assertTrue(os.path.exists(os.path.join(ARGUMENTS.root, "deploy/compose", here)))
        self.assertEqual((there, how), (of_dockerfile(r'^CMD .*"--config", "([^"]+)"'), "ro"))
        built_in = os.path.join(ARGUMENTS.root, "deploy/compose", self.service["build"])
        self.assertTrue(os.path.samefile(built_in, ARGUMENTS.root))

    def test_ports_are_those_that_it_listens_on(self):
        for port in self.service["ports"]:
            self.assertEqual(port.split(":")[2], str(self.config.admin))
        self.assertEqual(of_dockerfile(r"^EXPOSE (.+)$"), f"{self.config.proxy} {self.config.admin}")
        self.assertEqual(self.config.answers("/status", "/metrics", "/readyz"), [200] * 3)

    def test_application_goes_through_it_and_has_no_other_way_out(self):
        application = self.file["services"]["application"]
        self.lead_through("penstock", self.config, application["environment"])
        self.assertTrue(all(self.file["networks"][name]["internal"] for name in application["networks"]))
        self.assertLess(set(application["networks"]), set(self.service["networks"]))
        self.assertEqual(application["depends_on"], {"penstock": {"condition": "service_healthy"}})
        self.assertIn('"healthcheck"', of_dockerfile(r"^HEALTHCHECK (.+)$"))

    def test_waits_for_the_end_of_a_drain(self):
        self.assertGreater(seconds(self.service["stop_grace_period"]), self.config.grace + 5)


class Kubernetes(Deploy, unittest.TestCase):
    def setUp(self):
        self.map, self.deployment = documents("deploy/kubernetes/sidecar.yaml")
        self.config = Config(self.map["data"]["penstock.yaml"])
        self.pod = self.deployment["spec"]["template"]
        (self.sidecar,) = self.pod["spec"]["initContainers"]
        self.ports = {port["name"]: port["containerPort"] for port in self.sidecar["ports"]}

    def test_configuration_is_sound_and_where_the_command_reads_it(self):
        self.is_sound(self.config)
        (mount,) = self.sidecar["volumeMounts"]
        (volume,) = self.pod["spec"]["volumes"]
        self.assertEqual((volume["name"], volume["configMap"]["name"]), (mount["name"], self.map["metadata"]["name"]))
        command, flag, path = self.sidecar["args"]
        self.assertIn(flag, asked(command, "--help")[1])
        self.assertEqual(path, f"{mount['mountPath']}/{next(iter(self.map['data']))}")

    def test_is_a_sidecar_that_runs_as_the_image_does(self):
        self.assertEqual(self.sidecar["restartPolicy"], "Always")
        self.assertEqual(self.sidecar["securityContext"]["runAsUser"], int(of_dockerfile(r"^USER (\d+)")))

    def test_probes_and_prometheus_are_answered_at_ports_that_it_listens_on(self):
        (monitor,) = documents("deploy/kubernetes/podmonitor.yaml")
        asks = [self.sidecar[probe]["httpGet"] for probe in PROBES] + monitor["spec"]["podMetricsEndpoints"]
        for ask in asks:
            self.assertEqual(self.ports[ask["port"]], self.config.admin)
        self.assertFalse(self.config.keys["admin"]["listen"].startswith("127."), "nobody outside the pod would be answered")
        self.assertEqual(self.config.answers(*[ask["path"] for ask in asks]), [200] * len(asks))

    def test_the_monitor_finds_the_pod(self):
        (monitor,) = documents("deploy/kubernetes/podmonitor.yaml")
        labels = self.pod["metadata"]["labels"].items()
        self.assertLessEqual(monitor["spec"]["selector"]["matchLabels"].items(), labels)
        self.assertLessEqual(self.deployment["spec"]["selector"]["matchLabels"].items(), labels)

    def test_application_goes_through_it(self):
        (application,) = self.pod["spec"]["containers"]
        self.lead_through("127.0.0.1", self.config, {each["name"]: each["value"] for each in application["env"]})

    def test_waits_for_the_end_of_a_drain(self):
        self.assertGreater(self.pod["spec"]["terminationGracePeriodSeconds"], self.config.grace + 5)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", required=True)
    parser.add_argument("--program", required=True)
    rest = parser.parse_known_args(namespace=ARGUMENTS)[1]
    unittest.main(argv=[sys.argv[0], *rest])
