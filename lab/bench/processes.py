# SPDX-License-Identifier: Apache-2.0
"""Processes of a benchmark: started on a core, ended by their ids, and what they cost as /proc tells it.
For the programs of this folder only."""

import contextlib
import os
import resource
import signal
import socket
import subprocess
import time

TICKS = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")
PATIENCE = 30  # seconds for anything to start, to answer or to end


class Failed(Exception):
    """The benchmark cannot go on; the text says why."""


def allow_open_files():
    """Children inherit it: 9 000 clients need more than the usual 1024."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


_held_ports = []


def free_port():
    """Bound here until we end, without listening: a server, which sets SO_REUSEADDR, may have it, and nobody else."""
    held = socket.socket()
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    held.bind(("127.0.0.1", 0))
    _held_ports.append(held)
    return held.getsockname()[1]


def until(condition, what):
    """Asks again and again until it is so; gives what the condition gave."""
    deadline = time.monotonic() + PATIENCE
    while not (found := condition()):
        if time.monotonic() > deadline:
            raise Failed(f"waited {PATIENCE} s in vain for {what}")
        time.sleep(0.005)
    return found


def accepts(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def stat_of(pid):
    """The fields of /proc/PID/stat from the state on; nothing for a process that is gone."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as stat:
            return stat.read().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None


def tree_of(root):
    """The process and all that descend from it."""
    children = {}
    for name in os.listdir("/proc"):
        if name.isdigit() and (stat := stat_of(name)):
            children.setdefault(int(stat[1]), []).append(int(name))
    tree = [root]
    for pid in tree:
        tree.extend(children.get(pid, []))
    return tree


def cpu_seconds(root):
    """User and system time of the whole tree, with all threads and with children that ended."""
    stats = filter(None, map(stat_of, tree_of(root)))
    return sum(int(ticks) for stat in stats for ticks in stat[11:15]) / TICKS


def resident_bytes(root):
    total = 0
    for pid in tree_of(root):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            with open(f"/proc/{pid}/statm", encoding="ascii") as statm:
                total += int(statm.read().split()[1]) * PAGE
    return total


def busy_seconds_of_machine():
    """What all cores spent on anything, time that the hypervisor took away included."""
    with open("/proc/stat", encoding="ascii") as stat:
        user, nice, system, _idle, _iowait, irq, softirq, steal = map(int, stat.readline().split()[1:9])
    return (user + nice + system + irq + softirq + steal) / TICKS


class Process:
    """A program on one core, with a pipe to it and one from it. To be used in a `with`: leaving it ends the tree."""

    def __init__(self, command, core, stdout=subprocess.PIPE, stderr=None, cwd=None):
        self.name = os.path.basename(command[0])
        self._popen = subprocess.Popen(["taskset", "-c", str(core), *command], stdin=subprocess.PIPE, stdout=stdout,
                                       stderr=stderr, cwd=cwd, text=True)
        self.pid = self._popen.pid  # taskset becomes the program, so this is the program's own

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()

    def tell(self, line):
        try:
            self._popen.stdin.write(line + "\n")
            self._popen.stdin.flush()
        except BrokenPipeError:
            raise Failed(f"{self.name} has ended too early") from None

    def line(self):
        """The next line that it says."""
        if text := self._popen.stdout.readline():
            return text.strip()
        raise Failed(f"{self.name} has ended too early, code {self.code()}")

    def last_words(self):
        """Ends its input, and gives all that it still says."""
        self._popen.stdin.close()
        text = self._popen.stdout.read().strip()
        self._popen.wait(PATIENCE)
        return text

    def runs(self):
        return self._popen.poll() is None

    def signal(self, number):
        """Nothing where it has ended."""
        self._popen.send_signal(number)

    def code(self):
        return self._popen.wait(PATIENCE)

    def end(self):
        descendants = tree_of(self.pid)[1:] if self.runs() else []
        if self.runs():
            self._popen.terminate()
        try:
            self._popen.wait(5)
        except subprocess.TimeoutExpired:
            self._popen.kill()
            self._popen.wait()
        for pid in descendants:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for pipe in (self._popen.stdin, self._popen.stdout):
            with contextlib.suppress(BrokenPipeError):
                if pipe:
                    pipe.close()


class Server(Process):
    """Has a `port`, which it listens on when a constructor that ends with await_listening() returns."""

    def await_listening(self):
        try:
            until(lambda: not self.runs() or accepts(self.port), f"{self.name} to listen")
            self.check()
        except BaseException:
            self.end()
            raise

    def check(self):
        if not self.runs():
            raise Failed(f"{self.name} has ended with code {self.code()}\n{self.said()}")

    def said(self):
        """What it complained about, if it can be known."""
        return ""
