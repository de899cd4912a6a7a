# SPDX-License-Identifier: Apache-2.0
"""A run with visitors instead of workers: they come at random, whether or not others were served, each to a random
process for a random group, and give up after a time-out of their own. For the programs of this folder only."""

import asyncio
import concurrent.futures
import contextlib
import dataclasses
import math
import random
import re
import time

from processes import Failed
from runs import MEANT_TO_GO_ON, measure, stage_of


@dataclasses.dataclass(frozen=True)
class Crowd:
    per_second: float     # over all processes
    groups: int = 1       # named 1, 2, …
    patience: float = 0   # the mean seconds until a visitor gives up, exponential; 0: never
    seed: int = 1
    spike: int = 0        # additional visitors, all at the beginning


class Visits:
    """The visits of one run, and their outcomes."""

    def __init__(self, crowd, origin_port, ports):
        self._crowd, self._origin, self._ports = crowd, origin_port, ports
        self._random = random.Random(crowd.seed)
        self.answers, self.left, self.worst = 0, 0, 0
        self.waits = []  # (came, answered), time.monotonic()

    async def go_on_for(self, seconds):
        """Visitors that still wait at the end leave."""
        visits, end = [], time.monotonic() + seconds
        next_one = time.monotonic()
        visits += [asyncio.create_task(self._visit()) for _ in range(self._crowd.spike)]
        while next_one < end:
            await asyncio.sleep(max(0, next_one - time.monotonic()))
            visits.append(asyncio.create_task(self._visit()))
            next_one += self._random.expovariate(self._crowd.per_second)
        for visit in visits:
            visit.cancel()
        for result in await asyncio.gather(*visits, return_exceptions=True):
            if isinstance(result, Exception):
                raise result

    async def _visit(self):
        process = self._random.randrange(len(self._ports))
        group = self._random.randint(1, self._crowd.groups)
        patience = self._random.expovariate(1 / self._crowd.patience) if self._crowd.patience else None
        came = time.monotonic()
        try:
            async with asyncio.timeout(patience):
                await self._ask(process, group)
        except TimeoutError:
            self.left += 1
        except asyncio.CancelledError:
            self.left += 1
            raise
        else:
            self.answers += 1
            self.worst = max(self.worst, time.monotonic() - came)
            self.waits.append((came, time.monotonic()))

    async def _ask(self, process, group):
        origin = f"127.0.0.1:{self._origin}"
        reader, writer = await asyncio.open_connection("127.0.0.1", self._ports[process])
        with contextlib.closing(writer):
            writer.write(f"GET http://{origin}/{group} HTTP/1.1\r\nHost: {origin}\r\n"
                         f"Experiment-Process: {process}\r\n\r\n".encode())
            head = (await reader.readuntil(b"\r\n\r\n")).decode(errors="replace")
            length = re.search(r"(?i)\r\ncontent-length: *(\d+)\r\n", head)
            if not head.startswith("HTTP/1.1 200 ") or not length:
                raise Failed(f"not the expected answer:\n{head[:600]}")
            await reader.readexactly(int(length.group(1)))


    def empty_after(self):
        """Seconds from the first visit until no visitor waits longer than 50 ms; infinite: never."""
        waits = sorted(self.waits)
        latest = 0
        for came, answered in waits:
            if latest and came > latest - 0.05:
                return came - waits[0][0]
            latest = max(latest, answered)
        return math.inf


def run_visitors(tools, setting, crowd, during=lambda stage: None):
    """`during` is called while the load is running."""
    with stage_of(tools, setting) as stage, concurrent.futures.ThreadPoolExecutor(1) as pool:
        visits = Visits(crowd, stage.origin.port, [daemon.port for daemon in stage.daemons])

        def work():
            stage.begin = time.monotonic()
            stage.note_now("begin")
            beside = pool.submit(during, stage)
            asyncio.run(visits.go_on_for(setting.seconds + MEANT_TO_GO_ON))
            beside.result()
            stage.notes["empty"] = visits.empty_after()
            return [{"answers": visits.answers, "left": visits.left, "worst_ms": visits.worst * 1000}]

        return measure(tools, setting, stage, stage.daemons, work)
