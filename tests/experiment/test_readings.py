# SPDX-License-Identifier: Apache-2.0
"""Are arrivals counted right, and is what misses an aim seen? Called by CTest; nothing is started."""

import unittest

import readings
import scenarios
from readings import MS, Arrival
from runs import Run, Setting


class Readings(unittest.TestCase):
    def test_the_fullest_stretch_is_half_open(self):
        self.assertEqual(readings.fullest([0, 1, 499, 500], 500), 3)
        self.assertEqual(readings.fullest([0, 1, 499, 500, 500], 500), 4)
        self.assertEqual(readings.fullest([7, 7, 7], 1), 3)
        self.assertEqual(readings.fullest([], 500), 0)

    def test_windows_begin_after_the_first_arrival_and_empty_ones_count(self):
        times = [499, 500, 501, 999, 1700, 2000]
        self.assertEqual(readings.whole_windows(times, 500, 3), [3, 0, 1])

    def test_a_window_that_begins_too_soon_after_the_first_arrival_is_no_whole_one(self):
        times = [499, 500, 501, 999, 1700, 2000]
        self.assertEqual(readings.whole_windows(times, 500, 3, warm=1), [0, 1, 1])
        self.assertEqual(readings.whole_windows(times, 500, 3, warm=0), [3, 0, 1])

    def test_a_burst_ends_with_a_silence(self):
        self.assertEqual(readings.bursts([5, 6, 7, 107, 108, 300], 100), [(5, 3), (107, 2), (300, 1)])

    def test_the_first_stretch_begins_with_the_first_arrival_and_excludes_its_end(self):
        arrivals = [Arrival(at, 0, 0) for at in (10, 19, 20, 21)]
        self.assertEqual([arrival.at for arrival in readings.from_the_first(arrivals, 10)], [10, 19])

    def test_gaps_and_shares(self):
        gaps = readings.gaps([0, 10, 12, 15])
        self.assertEqual(gaps, [2, 3, 10])
        self.assertEqual([readings.quantile(gaps, share) for share in (0, 0.5, 1)], [2, 3, 10])
        arrivals = [Arrival(at, process, 0) for at, process in enumerate((0, 2, 2))]
        self.assertEqual(readings.shares(arrivals, 4), [1, 0, 2, 0])
        self.assertEqual(readings.groups([Arrival(0, 0, 1), Arrival(0, 0, 3), Arrival(0, 0, 3)], 3), [1, 0, 2])


def run_of(milliseconds, whose=lambda at: at % 3):
    """A run whose arrivals came at these times after the edge of a window."""
    arrivals = [Arrival(round(ms * MS), whose(at), 0) for at, ms in enumerate(milliseconds)]
    return Run(Setting(), arrivals, worst_ms=0, redis_calls=0.1, redis_us=0, process_us=0, noise_ms=0, lost_ms=0)


def bursts_of(sizes, apart):
    return [at * apart + 1 + request / 1000 for at, size in enumerate(sizes) for request in range(size)]


class Aims(unittest.TestCase):
    def met(self, aims):
        return [aim.met for aim in aims]

    def test_a_pacer_that_keeps_time_meets_them_and_one_too_quick_does_not(self):
        exact, quick = run_of([at * 2.5 for at in range(4400)]), run_of([at * 2.49 for at in range(4400)])
        aims = scenarios.all_of(scenarios.about(4000, 4), scenarios.even_gaps, scenarios.fair)
        self.assertEqual(self.met(aims(exact)), [True, True, True])
        self.assertEqual(self.met(aims(quick)), [False, True, True])

    def test_pairs_are_no_even_gaps(self):
        self.assertEqual(self.met(scenarios.even_gaps(run_of([at // 2 * 5 for at in range(4400)]))), [False])

    def test_shares_may_differ_by_a_tenth(self):
        def with_of_the_third(count):
            return run_of(range(300), lambda at: 2 if at < count else at % 2)
        self.assertEqual(self.met(scenarios.fair(with_of_the_third(96))), [True])
        self.assertEqual(self.met(scenarios.fair(with_of_the_third(90))), [False])
        self.assertEqual(self.met(scenarios.nobody_starved(with_of_the_third(50))), [True])
        self.assertEqual(self.met(scenarios.nobody_starved(with_of_the_third(49))), [False])

    def test_one_window_with_one_too_many_or_too_few_is_seen(self):
        for sizes, met in (([200] * 22, True), ([200] * 9 + [201] + [200] * 12, False),
                           ([200] * 20 + [199, 200], False)):
            self.assertEqual(self.met(scenarios.full_windows(run_of(bursts_of(sizes, 500)))), [met])

    def test_a_counter_that_is_reset_too_early_or_holds_too_much_is_seen(self):
        for sizes, apart, met in (([200] * 22, 501, [True, True]), ([200] * 22, 498, [True, False]),
                                  ([200, 201] * 11, 501, [False, True])):
            self.assertEqual(self.met(scenarios.full_resets(run_of(bursts_of(sizes, apart)))), met)

    def test_a_sliding_window_may_not_count_by_fixed_ones(self):
        aims = scenarios.all_of(scenarios.over_at_no_time, scenarios.over_at_no_time_once_warm, scenarios.hardly_unused)
        for apart, met in ((502, [True, True, True]), (499, [False, False, False]), (530, [True, True, False])):
            self.assertEqual(self.met(aims(run_of(bursts_of([200] * 22, apart)))), met)

    def test_a_late_first_burst_is_told_from_a_late_later_one(self):
        def late_by_5(burst):
            times = bursts_of([200] * 22, 502)
            times[200 * burst:200 * burst + 200] = [at + 5 for at in times[200 * burst:200 * burst + 200]]
            return run_of(times)
        self.assertEqual(self.met(scenarios.over_at_no_time(late_by_5(0))), [False])
        self.assertEqual(self.met(scenarios.over_at_no_time_once_warm(late_by_5(0))), [True])
        self.assertEqual(self.met(scenarios.over_at_no_time_once_warm(late_by_5(7))), [False])
        self.assertEqual(self.met(scenarios.over_at_no_time_once_warm(late_by_5(7), late_ms=3)), [True])


unittest.main()
