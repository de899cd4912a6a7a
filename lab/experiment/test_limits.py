# SPDX-License-Identifier: Apache-2.0
"""The reference experiment as a test: three processes, 50 workers each, ten seconds, one Redis, for each kind of limit;
all at the same time. Called by CTest with the build directory and the program. Bookings are strict, which tests/lua
checks; here a departure is seen when it arrives, and may be as late as this machine was meanwhile. The lateness is
measured and subtracted; on a quiet machine it is next to nothing. Every run is judged."""

import concurrent.futures
import pathlib
import sys
import time
import unittest

import machine
import readings
from readings import MS, SECOND
from aims import HALF, SILENCE, WARM, counted, shares, times_of
from runs import MEANT_TO_GO_ON, Setting, run_penstock
from scenarios import BUCKET, COUNTER, PACER, SLIDING, WINDOW
from stage import Tools

PROGRAM = pathlib.Path(sys.argv.pop())
TOOLS = Tools(pathlib.Path(sys.argv.pop()), PROGRAM)
RATE = 0.4          # departures in a millisecond
FULL = 200          # departures in half a second
REDIS = "10s"       # a slow machine must not make Redis seem away: processes without it would break the limit
WORK_MS = 10        # how much longer a busy process may wait for a core than one that sleeps
GUARD_MS = 2        # how much longer a sliding window is than configured, for late departures
HORIZON = 50 * MS   # how far ahead departures are booked


def late(begin, end):
    """By how many nanoseconds this machine was late from `begin` to `end`, in nanoseconds since 1970."""
    since_1970 = time.time() - time.monotonic()
    return round(SECOND * machine.late(begin / SECOND - since_1970, end / SECOND - since_1970))


def wrong_windows(times, count):
    """None if each whole window can have let FULL leave; otherwise says which window cannot. Departures that the
    machine delayed arrive at the beginning of the next window, while the machine was late: which window they belong to
    is unknown, so their number has a least and a most. A window also lacks departures for which no process asked
    in time, because the machine was late."""
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


def wrong_burst(times):
    """None if FULL can have left after each reset, and then nothing until the next. A silence may be shorter by the
    machine's lateness since the reset, a burst may be interrupted for as long, and may lack departures for which
    no process asked meanwhile. Otherwise says where no burst fits: the last number at which one may begin."""
    may_begin = {0}
    for first in range(len(times)):
        if first not in may_begin:
            continue
        for end in range(first + 1, first + FULL + 1):
            if end == len(times):
                return None
            silence, lateness = times[end] - times[end - 1], late(times[first] - HORIZON, times[end])
            if silence >= SILENCE - lateness and first + FULL - end <= RATE * lateness / MS:
                may_begin.add(end)
            if silence > SILENCE + lateness:
                break
    last = max(may_begin)
    return f"{last}, {(times[last] - times[last - 1]) / MS:.0f} ms after the one before"


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
        self.assertLess(calls, 0.25 * RATE * 1000 * (run.setting.seconds + MEANT_TO_GO_ON))  # departures
        self.assertGreaterEqual(len(counted(run)), 3960 - RATE * run.lost_ms)
        return run

    def assert_paced(self, run):
        kept = RATE * (WORK_MS + run.noise_ms)
        self.assertLessEqual(len(counted(run)), 4001 + kept)
        self.assertLessEqual(readings.fullest(times_of(run), HALF), 201 + kept)
        self.assert_fair(run, least=0.85)

    def assert_fair(self, run, least):
        """A process that the machine held up most of the time has asked for less."""
        least *= 1 - min(1, run.lost_ms / 1000 / run.setting.seconds)
        self.assertGreater(min(shares(run)), least * len(counted(run)) / 3)

    def test_pacer(self):
        """The processes together send 400 a second."""
        run = self.run_with(PACER)
        self.assert_paced(run)
        gaps = readings.gaps([arrival.at for arrival in counted(run)])
        disturbed = min(0.5, run.lost_ms / 1000 / run.setting.seconds)  # this fraction of the gaps may be anything
        self.assertGreaterEqual(readings.quantile(gaps, 0.5 + disturbed) / MS, 1 / RATE - 0.25)
        self.assertLessEqual(readings.quantile(gaps, 0.5 - disturbed) / MS, 1 / RATE + 0.25)

    def test_token_bucket(self):
        """Each departure takes a token."""
        self.assert_paced(self.run_with(BUCKET))

    def test_window(self):
        """Every whole window carries 200."""
        run = self.run_with(WINDOW)
        self.assertIsNone(wrong_windows(times_of(run), round(run.setting.seconds * SECOND / HALF)))
        self.assert_fair(run, least=0.5)

    def test_counter(self):
        """Every period carries 200, and lasts half a second."""
        run = self.run_with(COUNTER)
        times = times_of(run)[:21 * FULL]
        self.assertLessEqual(len(counted(run)), len(times))
        self.assertIsNone(wrong_burst(times))
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
