# SPDX-License-Identifier: Apache-2.0
"""The reference experiment as a test: three processes, 50 workers each, ten seconds, one Redis. Called by CTest with
the build directory and the program. What is booked is strict, and tests/lua holds it so; here a departure is seen when
it arrives, and may be as late as this machine woke anybody meanwhile. That is measured, and allowed for: on a quiet
machine it is next to nothing."""

import pathlib
import sys
import unittest

import readings
from readings import MS
from runs import Setting, run_penstock
from scenarios import (BUCKET, COUNTER, HALF, PACER, SILENCE, SLIDING, WINDOW, counted, full_resets, full_windows,
                       shares, times_of)
from stage import Tools

PROGRAM = pathlib.Path(sys.argv.pop())
TOOLS = Tools(pathlib.Path(sys.argv.pop()), PROGRAM)
RATE = 0.4     # departures in a millisecond
LOAD = 3       # a process that has work to do waits longer for a core than one that sleeps, which is what is measured
BURST_MS = 10  # in which a third of 200 requests are written that leave at one moment


def late_ms(run):
    """By how much one departure may arrive late, and another not."""
    return BURST_MS + LOAD * run.noise_ms


class ThreeProcesses(unittest.TestCase):
    def run_with(self, limit):
        run = run_penstock(TOOLS, Setting((limit,)))
        print(f"{limit}: {len(counted(run))} sent, shares {shares(run)}, {run.redis_calls:.3f} Redis calls a request, "
              f"noise {run.noise_ms:.1f} ms at worst, {run.lost_ms:.0f} ms in all", flush=True)
        self.assertLess(run.redis_calls, 0.5)
        self.assertGreaterEqual(len(counted(run)), 3960 - RATE * LOAD * run.lost_ms)
        return run

    def assert_paced(self, run):
        late = RATE * late_ms(run)
        self.assertLessEqual(len(counted(run)), 4001 + late)
        self.assertLessEqual(readings.fullest(times_of(run), HALF), 201 + late)
        self.assert_fair(run, least=0.7)

    def assert_full(self, run, aims):
        self.assertLessEqual(len(counted(run)), 4400)  # 21 windows, and one for those still under way at the end
        if late_ms(run) * MS < SILENCE / 2:
            self.assertEqual([aim for aim in aims(run) if not aim.met], [])
        self.assert_fair(run, least=0.5)

    def assert_fair(self, run, least):
        self.assertGreater(min(shares(run)), least * len(counted(run)) / 3)

    def test_pace_400_a_second_together(self):
        run = self.run_with(PACER)
        self.assert_paced(run)
        gap = readings.quantile(readings.gaps([arrival.at for arrival in counted(run)]), 0.5) / MS
        self.assertAlmostEqual(gap, 1 / RATE, delta=1)

    def test_take_a_token_each(self):
        self.assert_paced(self.run_with(BUCKET))

    def test_fill_every_window_and_never_more(self):
        self.assert_full(self.run_with(WINDOW), full_windows)

    def test_fill_every_period_and_never_more(self):
        self.assert_full(self.run_with(COUNTER), full_resets)

    def test_never_send_more_than_200_in_any_500_ms(self):
        run = self.run_with(SLIDING)
        self.assertLessEqual(len(counted(run)), 4200)
        self.assertLessEqual(readings.fullest(times_of(run), max(0, HALF - round(late_ms(run) * MS))), 200)
        self.assert_fair(run, least=0.5)


unittest.main()
