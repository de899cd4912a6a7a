# SPDX-License-Identifier: Apache-2.0
"""The reference experiment as a test: three processes, 50 workers each, ten seconds, one Redis, for each kind of limit;
all at the same time. Called by CTest with the build directory and the program. What is booked is strict, and tests/lua
holds it so; here a departure is seen when it arrives, and may be as late as this machine was meanwhile. That is measured
and subtracted: on a quiet machine it is next to nothing. Every run is judged."""

import concurrent.futures
import pathlib
import sys
import time
import unittest

import machine
import readings
from readings import MS, SECOND
from runs import MEANT_TO_GO_ON, Setting, run_penstock
from scenarios import BUCKET, COUNTER, HALF, PACER, SILENCE, SLIDING, WARM, WINDOW, counted, shares, times_of
from stage import Tools

PROGRAM = pathlib.Path(sys.argv.pop())
TOOLS = Tools(pathlib.Path(sys.argv.pop()), PROGRAM)
RATE = 0.4          # departures in a millisecond
FULL = 200          # departures in half a second
REDIS = "10s"       # a Redis that the machine keeps waiting is not away: who went on without it would break the limit
WORK_MS = 10        # a process that has work to do may wait so much longer for a core than one that sleeps
GUARD_MS = 2        # by which a sliding window is longer than it says, for those who leave late
HORIZON = 50 * MS   # so early departures are booked


def late(begin, end):
    """By how many nanoseconds this machine was late in a stretch of time, of nanoseconds since 1970."""
    since_1970 = time.time() - time.monotonic()
    return round(SECOND * machine.late(begin / SECOND - since_1970, end / SECOND - since_1970))


def wrong_windows(times, count):
    """Whether it can be that each whole window let FULL go. What it let go and the machine kept came at the beginning of
    the next one, while the machine was late: of these nobody knows which window's they are, so there is a least and a most
    of them. What it did not ask for in time, because the machine was late, it lacks. Says where it cannot be."""
    first = (times[0] + WARM) // HALF + 1
    carried = readings.whole_windows(times, HALF, count, WARM)

    def kept_beyond(edge):
        kept = [at for at in times if edge <= at < edge + HALF and at - edge < late(edge - HORIZON, at)]
        return len(kept), RATE * late(edge - HORIZON, edge + HALF) / MS

    least, (most, lack) = 0, kept_beyond(first * HALF)
    for number, many in enumerate(carried):
        kept, next_lack = kept_beyond((first + number + 1) * HALF)
        least, most = max(0, FULL - lack + least - many), min(kept, FULL + most - many)
        if least > most:
            return f"window {number} of {carried}"
        lack = next_lack
    return None


def wrong_bursts(times):
    """Nothing leaves between two resets once the counter is full: each FULL of them come without a silence, and are
    followed by one, but for how late the machine was since the burst before. What is not so: (the number, milliseconds)."""
    wrong = []
    for at, (before, after) in enumerate(zip(times, times[1:]), 1):
        is_silence = after - before >= SILENCE
        if is_silence == (at % FULL == 0):
            continue
        lateness = late(times[max(0, at - FULL)] - HORIZON, after)
        if after - before > SILENCE + lateness if is_silence else after - before < SILENCE - lateness:
            wrong.append((at, (after - before) / MS))
    return wrong


class ThreeProcesses(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        limits = (PACER, BUCKET, WINDOW, COUNTER, SLIDING)
        with concurrent.futures.ThreadPoolExecutor(len(limits)) as pool:
            runs = pool.map(lambda limit: run_penstock(TOOLS, Setting((limit,), timeout=REDIS)), limits)
            cls.runs = dict(zip(limits, runs))

    def run_with(self, limit):
        run = self.runs[limit]
        print(f"{limit}: {len(counted(run))} sent, shares {shares(run)}, {run.redis_calls:.3f} Redis calls a request, "
              f"noise {run.noise_ms:.1f} ms at worst, {run.lost_ms:.0f} ms in all", flush=True)
        calls = run.redis_calls * len(run.arrivals)
        self.assertLess(calls, 0.25 * RATE * 1000 * (run.setting.seconds + MEANT_TO_GO_ON))  # departures that were possible
        self.assertGreaterEqual(len(counted(run)), 3960 - RATE * run.lost_ms)
        return run

    def assert_paced(self, run):
        kept = RATE * (WORK_MS + run.noise_ms)
        self.assertLessEqual(len(counted(run)), 4001 + kept)
        self.assertLessEqual(readings.fullest(times_of(run), HALF), 201 + kept)
        self.assert_fair(run, least=0.85)

    def assert_fair(self, run, least):
        """Whose process the machine kept most of the time has asked for less."""
        least *= 1 - min(1, run.lost_ms / 1000 / run.setting.seconds)
        self.assertGreater(min(shares(run)), least * len(counted(run)) / 3)

    def test_pacer(self):
        """400 a second together."""
        run = self.run_with(PACER)
        self.assert_paced(run)
        gaps = readings.gaps([arrival.at for arrival in counted(run)])
        disturbed = min(0.5, run.lost_ms / 1000 / run.setting.seconds)  # so many of them may be anything
        self.assertGreaterEqual(readings.quantile(gaps, 0.5 + disturbed) / MS, 1 / RATE - 0.25)
        self.assertLessEqual(readings.quantile(gaps, 0.5 - disturbed) / MS, 1 / RATE + 0.25)

    def test_token_bucket(self):
        """A token each."""
        self.assert_paced(self.run_with(BUCKET))

    def test_window(self):
        """Every whole window carries 200."""
        run = self.run_with(WINDOW)
        self.assertIsNone(wrong_windows(times_of(run), round(run.setting.seconds * SECOND / HALF)))
        self.assert_fair(run, least=0.5)

    def test_counter(self):
        """So does every period, and these last half a second."""
        run = self.run_with(COUNTER)
        times = times_of(run)[:21 * FULL]
        self.assertLessEqual(len(counted(run)), len(times))
        self.assertEqual(wrong_bursts(times), [])
        firsts = times[::FULL]
        kept = late(firsts[0] - HORIZON, firsts[0])
        self.assertGreaterEqual(firsts[-1] - firsts[0] + kept, 0.999 * HALF * (len(firsts) - 1))
        self.assert_fair(run, least=0.5)

    def test_sliding_window(self):
        """Never more than 200 in any half second."""
        run = self.run_with(SLIDING)
        self.assertLessEqual(len(counted(run)), 4000 + RATE * (WORK_MS + run.noise_ms))
        warm = [at for at in times_of(run) if at >= run.arrivals[0].at + WARM]
        late_ms = WORK_MS + run.noise_ms - GUARD_MS
        self.assertLessEqual(readings.fullest(warm, max(0, HALF - round(late_ms * MS))), FULL)
        self.assert_fair(run, least=0.5)


machine.watch()
unittest.main()
