# SPDX-License-Identifier: Apache-2.0
"""What is done to the world around the program in a chaos run, and to its configuration. For the programs of this
folder only."""

import asyncio
import collections
import random
import time

import ledger
import settings
from house import eventually

RELOADS = "penstock_config_reloads_total"
KINDS = ("restarts of origins", "Redis killed", "Redis frozen", "Redis emptied", "names without answers",
         "reloads (success)", "reloads (failed)")


class Faults:
    """Of a whole run: what is in force goes over from round to round."""

    def __init__(self, run):
        self._run = run
        self._upstreams = settings.UPSTREAMS
        self._book = None
        self._redis_lock, self._reload_lock = asyncio.Lock(), asyncio.Lock()
        self._away = set()
        self.counts = collections.Counter()

    def begin(self, book):
        self._book = book
        book.in_force.append(ledger.InForce(self._upstreams, 0))

    async def play(self, faults):
        begin, tasks = time.monotonic(), []
        for fault in faults:
            await asyncio.sleep(max(0, begin + fault.at - time.monotonic()))
            tasks.append(asyncio.create_task(getattr(self, f"_{fault.name}")(fault)))
        await asyncio.gather(*tasks)

    async def _restart(self, fault):
        name = random.Random(fault.draw).choice(list(self._run.origins))
        if name in self._away:
            return
        self._away.add(name)
        self._count("restarts of origins")
        await self._run.origins[name].restart(fault.lasts)
        self._away.discard(name)

    async def _redis_kill(self, fault):
        async with self._redis_lock:
            self._count("Redis killed")
            self._book.lost_memory()
            await self._run.redis.killed(fault.lasts)
            self._book.lost_memory()
            self._book.done("Redis is back")

    async def _redis_stop(self, fault):
        async with self._redis_lock:
            self._count("Redis frozen")
            self._book.switched()
            await self._run.redis.frozen(fault.lasts)
            self._book.switched()
            self._book.done("Redis thaws")

    async def _redis_flush(self, _):
        async with self._redis_lock:
            self._count("Redis emptied")
            self._book.lost_memory()
            await self._run.redis.ask("FLUSHALL")

    async def _names(self, fault):
        self._count("names without answers")
        self._run.names.mood = random.Random(fault.draw).choice(("silent", "failing"))
        await asyncio.sleep(4 * fault.lasts)
        self._run.names.mood = "good"

    async def _reload(self, fault):
        upstreams = settings.changed(random.Random(fault.draw), settings.UPSTREAMS)
        async with self._reload_lock:
            self._book.in_force.append(ledger.InForce(upstreams, time.time()))
            await self._take(settings.configuration(self._run.place, upstreams), "success")
            self._book.in_force[-2].end = time.time() + 0.05  # what is booked leaves
            self._upstreams = upstreams

    async def _reload_bad(self, fault):
        good = settings.configuration(self._run.place, self._upstreams)
        async with self._reload_lock:
            await self._take(settings.spoiled(random.Random(fault.draw), good), "failed")

    def _count(self, what):
        self.counts[what] += 1
        self._book.done(what)

    async def _take(self, text, result):
        before = await self._counted(result)
        self._run.penstock.write(text)
        self._run.penstock.hang_up()

        async def is_taken():
            return await self._counted(result) > before

        if not await eventually(is_taken, 30):
            self._book.breach(f"no reload counted as {result} within 30 s:\n{text}")
        self._count(f"reloads ({result})")

    async def _counted(self, result):
        return (await self._run.penstock.metrics()).get((RELOADS, (("result", result),)), 0)
