# SPDX-License-Identifier: Apache-2.0
"""The parts of the experiment as processes: Redis, the origin, daemons, clients, the relay. Each is used in a `with`,
listens when its constructor returns, and is ended by its process id. For the programs of this folder only."""

import contextlib
import dataclasses
import http.client
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile

from processes import Failed, Process, Server, free_port
from readings import parsed

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
CORES = ",".join(map(str, sorted(os.sched_getaffinity(0))))
# All commands that clients of the experiment send, of which scripts use none. INFO comes from the experiment itself.
SENT_BY_CLIENTS = {"evalsha", "eval", "ping", "auth", "select", "hello", "subscribe", "psubscribe", "quit"}


def run_seconds(pid):
    """CPU time of all threads of a process, from the kernel's scheduler: finer than the ticks of /proc/PID/stat."""
    total = 0
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        total += int((task / "schedstat").read_text(encoding="ascii").split()[0])
    return total / 1e9


@dataclasses.dataclass(frozen=True)
class RedisCost:
    calls: int      # commands that clients sent, without those within scripts, which cost no round trip
    seconds: float  # CPU time of its main thread, user and system


class Redis:
    """A Redis that can be killed and restarted on its port, with what SAVE has written, or empty.
    `options`: further words of redis-server's command line."""

    def __init__(self, options=()):
        self.port = free_port()
        self._directory = tempfile.mkdtemp(prefix="experiment-redis-")
        self._options = options
        self._server = None
        self.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()
        shutil.rmtree(self._directory, ignore_errors=True)

    def start(self):
        self._server = RedisServer(self.port, self._directory, self._options)

    def pid(self):
        return self._server.pid

    def kill(self):
        """Like kill -9; does nothing if Redis is not running."""
        if self._server:
            self._server.signal(signal.SIGKILL)
            self._server.end()
        self._server = None

    def forget_what_was_saved(self):
        """The next start is empty."""
        pathlib.Path(self._directory, "dump.rdb").unlink(missing_ok=True)

    def freeze(self):
        self._server.signal(signal.SIGSTOP)

    def thaw(self):
        self._server.signal(signal.SIGCONT)

    def cost(self):
        found = dict(line.split(":", 1) for line in self.ask("INFO", "ALL").splitlines() if ":" in line)
        calls = {name.removeprefix("cmdstat_"): dict(part.split("=") for part in value.split(","))["calls"]
                 for name, value in found.items() if name.startswith("cmdstat_")}
        sent = sum(int(times) for name, times in calls.items()
                   if name in SENT_BY_CLIENTS or name.startswith(("client|", "script|")))
        seconds = float(found["used_cpu_user_main_thread"]) + float(found["used_cpu_sys_main_thread"])
        return RedisCost(sent, seconds)

    def ask(self, *words):
        return subprocess.run([program("redis-cli"), "-p", str(self.port), *words], capture_output=True, text=True,
                              check=True, timeout=30).stdout


class RedisServer(Server):
    def __init__(self, port, directory, options):
        self.port = port
        fixed = {"port": port, "bind": "127.0.0.1", "save": "", "appendonly": "no", "daemonize": "no", "dir": directory}
        words = [word for name, value in fixed.items() for word in (f"--{name}", str(value))]
        super().__init__([program("redis-server"), *words, *options], CORES, stdout=subprocess.DEVNULL)
        self.await_listening()


def program(name):
    if found := shutil.which(name):
        return found
    raise Failed(f"{name} is not there; script/setup bench installs it")


@dataclasses.dataclass(frozen=True)
class Tools:
    """Starts the built programs."""
    build: pathlib.Path
    penstock: pathlib.Path

    def _tool(self, name, *words):
        return Process([str(self.build / f"lab/experiment/experiment_{name}"), *map(str, words)], CORES)

    def origin(self):
        return Origin(self._tool("origin"))

    def relay(self, target, microseconds=0):
        return Relay(self._tool("relay", target, microseconds))

    def noise(self):
        return self._tool("noise")

    def workers(self, origin, seconds, flight_us, on_refusal, proxies):
        """`proxies`: the argument of experiment_workers for each."""
        return self._tool("workers", origin, seconds, flight_us, on_refusal, *proxies)

    def daemon(self, config, clock=0):
        return Daemon(self.penstock, config, wrong_clock(self.build / "tests/libwrong_clock.so", clock))

    def bottleneck(self, *words):
        return Process([program("node"), str(HERE / "node/bottleneck.mjs"), *map(str, words)], CORES)


class Wrapped:
    """A process that says in its first line on which port it listens."""

    def __init__(self, process):
        self.process = process
        self.port = int(process.line().removeprefix("port "))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.end()


class Origin(Wrapped):
    def order(self, line):
        self.process.tell(line)

    def arrivals(self):
        """Ends the origin, and returns its arrivals."""
        return parsed(self.process.last_words())


class Relay(Wrapped):
    def order(self, line):
        self.process.tell(line)
        if (said := self.process.line()) != "done":
            raise Failed(f"the relay answered '{said}' to '{line}'")


class Daemon(Server):
    """A Penstock with a directory of its own. `clock`: from wrong_clock()."""

    def __init__(self, binary, config, clock=()):
        self.port, self._admin = free_port(), free_port()
        self._directory = pathlib.Path(tempfile.mkdtemp(prefix="experiment-"))
        self._path("config.yaml").write_text(
            "version: 1\n"
            f'proxy: {{ listen: "127.0.0.1:{self.port}", grace: 1s }}\n'
            f'admin: {{ listen: "127.0.0.1:{self._admin}" }}\n'
            f'log: {{ level: info, events: "{self._path("events")}" }}\n' + config, encoding="utf-8")
        words = [*clock, str(binary), "run", "--config", str(self._path("config.yaml"))]
        with open(self._path("said"), "w", encoding="utf-8") as said:
            super().__init__(words, CORES, said, said)
        self.await_listening()

    def said(self):
        return self._path("said").read_text(errors="replace")

    def events(self):
        return self._path("events").read_text(encoding="utf-8").splitlines()

    def metric(self, name):
        """The sum of the metric over all labels."""
        connection = http.client.HTTPConnection("127.0.0.1", self._admin, timeout=10)
        with contextlib.closing(connection):
            connection.request("GET", "/metrics")
            lines = connection.getresponse().read().decode().splitlines()
        return sum(float(line.rsplit(" ", 1)[1]) for line in lines if re.match(rf"{name}[ {{]", line))

    def end(self):
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGCONT)
        super().end()
        shutil.rmtree(self._directory, ignore_errors=True)

    def _path(self, name):
        return self._directory / name


def wrong_clock(library, seconds):
    """The first words of a command whose system clock is to be `seconds` off; its monotonic clock stays right."""
    return ["env", f"LD_PRELOAD={library}", f"WRONG_CLOCK={seconds}"] if seconds else []
