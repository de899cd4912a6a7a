# SPDX-License-Identifier: Apache-2.0
"""The processes of a chaos run: the program under test, a Redis that can be killed, frozen and emptied on the same port,
and a name server that can fall silent. For the programs of this folder only."""

import asyncio
import json
import os
import pathlib
import re
import signal
import subprocess
import time
import urllib.request

from origins import bound
from processes import Failed, resident_bytes, until
from stage import program
from wire import GONE

SAMPLE = re.compile(r"(\w+)(?:\{(.*)\})? (\S+)")
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


class Redis:
    def __init__(self, directory):
        self._holder = bound(0)  # keeps the port ours while no Redis listens there
        self.port = self._holder.getsockname()[1]
        self._directory, self._process = directory, None
        self.start()

    def start(self):
        words = [program("redis-server"), "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--appendonly",
                 "no", "--dir", str(self._directory)]
        self._process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)

    async def killed(self, away):
        self._process.kill()
        self._process.wait()
        await asyncio.sleep(away)
        self.start()
        await self.answers()

    async def frozen(self, away):
        self._process.send_signal(signal.SIGSTOP)
        try:
            await asyncio.sleep(away)
        finally:
            self._process.send_signal(signal.SIGCONT)

    async def answers(self):
        """Once it does."""
        for _ in range(1000):
            try:
                if (await self.ask("PING")).startswith(b"+PONG"):
                    return
            except GONE:
                pass
            await asyncio.sleep(0.01)
        raise Failed("redis-server does not answer")

    async def ask(self, command):
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            writer.write(command.encode() + b"\r\n")
            return await asyncio.wait_for(reader.readline(), 5)
        finally:
            writer.close()

    def end(self):
        self._process.send_signal(signal.SIGCONT)
        self._process.kill()
        self._process.wait()
        self._holder.close()


class Names(asyncio.DatagramProtocol):
    """Whatever is asked, is at 127.0.0.1; unless `mood` is silent or failing."""

    def __init__(self):
        self.mood, self.transport = "good", None

    async def start(self):
        loop = asyncio.get_running_loop()
        self.transport, _ = await loop.create_datagram_endpoint(lambda: self, local_addr=("127.0.0.1", 0))
        return "127.0.0.1:%d" % self.transport.get_extra_info("sockname")[1]

    def datagram_received(self, asked, whom):
        if self.mood == "silent":
            return
        end = asked.index(0, 12) + 5
        is_address = asked[end - 4:end - 2] == b"\x00\x01" and self.mood == "good"
        flags = b"\x81\x80" if self.mood == "good" else b"\x81\x82"
        answer = b"\xc0\x0c\x00\x01\x00\x01\x00\x00\x00\x00\x00\x04\x7f\x00\x00\x01" if is_address else b""
        head = asked[:2] + flags + b"\x00\x01" + (b"\x00\x01" if answer else b"\x00\x00") + b"\x00\x00\x00\x00"
        self.transport.sendto(head + asked[12:end] + answer, whom)


class Penstock:
    """The program under test, watched through its log, its metrics and /proc."""

    def __init__(self, binary, directory, config):
        self._config, self._said = directory / "penstock.yaml", directory / "said"
        self._events, self._offset = directory / "events", 0
        self.write(config)
        variables = {"ASAN_OPTIONS": "quarantine_size_mb=8:verify_asan_link_order=0",
                     "UBSAN_OPTIONS": "print_stacktrace=1"}
        with open(self._said, "w", encoding="utf-8") as said:
            self._process = subprocess.Popen([binary, "run", "--config", str(self._config)], env=variables, stderr=said,
                                             stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        self.pid = self._process.pid
        until(lambda: not self.runs() or "admin on http://" in self.said(), "the program to listen")
        if not self.runs():
            raise Failed(f"the program does not start:\n{self.said()}")
        self.port, self.admin = (int(re.search(rf"{words} on http://[^ ]*?:(\d+)", self.said())[1])
                                 for words in ("listening", "admin"))

    def write(self, config):
        self._config.write_text(config, encoding="utf-8")

    def runs(self):
        return self._process.poll() is None

    def said(self):
        return self._said.read_text(encoding="utf-8", errors="replace")

    def hang_up(self):
        self._process.send_signal(signal.SIGHUP)

    async def metrics(self):
        """All samples: (name, labels) to value."""
        text = await asyncio.to_thread(self._fetch, "/metrics")
        found = (SAMPLE.fullmatch(line) for line in text.splitlines() if not line.startswith("#"))
        return {(each[1], tuple(sorted(LABEL.findall(each[2] or "")))): float(each[3]) for each in found if each}

    def _fetch(self, path):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.admin}{path}", timeout=30) as answer:
            return answer.read().decode()

    def new_events(self):
        """Lines of the log that have come since the last time."""
        if not self._events.exists():
            return []
        with open(self._events, "rb") as file:
            file.seek(self._offset)
            text = file.read()
        whole = text[:text.rfind(b"\n") + 1]
        self._offset += len(whole)
        return [json.loads(line) for line in whole.splitlines()]

    def resident(self):
        return resident_bytes(self.pid)

    def descriptors(self, kept_ports):
        """Those it has, and how many more are connections that are kept for the next request: they lead to these ports,
        or to nowhere any more, since the other end has closed, and libcurl will see that when it looks for one."""
        remote, tables = {}, pathlib.Path(f"/proc/{self.pid}/net")
        for table in ("tcp", "udp"):
            for line in (tables / table).read_text(encoding="ascii").splitlines()[1:]:
                words = line.split()
                remote[words[9]] = int(words[2].split(":")[1], 16)
        local = {line.split()[6] for line in (tables / "unix").read_text(encoding="utf-8").splitlines()[1:]}
        own, kept = [], 0
        for link in os.listdir(f"/proc/{self.pid}/fd"):
            try:
                target = os.readlink(f"/proc/{self.pid}/fd/{link}")
            except FileNotFoundError:
                continue
            inode = re.fullmatch(r"socket:\[(\d+)\]", target)
            is_kept = bool(inode) and inode[1] not in local and remote.get(inode[1]) in {None, *kept_ports}
            kept += is_kept
            if not is_kept:
                own.append(f"{target} to {remote.get(inode[1], 'another here')}" if inode else target)
        return own, kept

    def end(self):
        """Its exit code, nothing where it had to be killed."""
        self._process.terminate()
        try:
            return self._process.wait(30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            return None


async def eventually(condition, patience):
    """Whether it came to be so."""
    deadline = time.monotonic() + patience
    while not await condition():
        if time.monotonic() > deadline:
            return False
        await asyncio.sleep(0.05)
    return True
