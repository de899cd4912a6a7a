// SPDX-License-Identifier: Apache-2.0
// The table that local limits and limits in Redis must agree on: requests that arrive, when each leaves, and which
// limit made it wait. Every expectation is worked out by hand from the rules of the kinds, never copied from an output.
#pragma once

#include <vector>

#include "support/cost_scenarios.h"
#include "support/scenario.h"

namespace penstock::scenarios {

// Where a rule leaves room for interpretation, it means this:
// - "Within the horizon": the departure, rounded up to whole microseconds, is no later than now + 50 ms.
// - A window's guard is 1 ms, or a tenth of its interval (whole microseconds, rounded down) where that is less. The
//   frontier ignores the guard. The guard moves the time that all limits have agreed on: if its phase in a window is
//   less than the guard, to edge + guard; if more than interval - guard, to the next edge + guard. This is done for
//   each window in the order of the file, repeatedly until no window moves it, at most eight times round. The window
//   that moved it last is named.
// - A counter's first period begins 1 ms before its first departure. A reset is due at R + period and takes place then,
//   whether or not a request asks: R becomes the later of that moment and the latest departure booked. Departures are
//   from R + 1 ms on. With no room left, nothing is booked before the reset has taken place.
// - Named is the limit with the latest frontier later than the ask; on a tie, the first in the file. A pause is named
//   only if it is later than every limit. A departure that leaves with the one before it in the same answer names the
//   same limit. A request that was told to wait, and whose departure names nothing, waited for what it had been told.
// - If no limit is `per: upstream`, a group may commit up to the horizon; otherwise no further than 5 ms beyond the
//   moment that the upstream's own limits allow.
// - Taken back: pacer, if N - w/qps rounds up to the departure (all of it was paced): N becomes that. slidingWindow,
//   only the newest, and exactly: times over `max` are kept until an interval before now, not before the newest.

inline std::vector<Scenario> pacers() {
  return {
      {"a_pacer_spaces_departures", {pacer(100)}, {Arrive{0, 3}}, {at(0), at(ms(10), 0), at(ms(20), 0)}},
      {"a_pacer_spaces_departures_beyond_the_horizon",
       {pacer(10)},
       {Arrive{0, 3}},
       {at(0), at(ms(100), 0), at(ms(200), 0)}},
      {"departures_are_rounded_up_to_whole_microseconds_and_keep_their_fractions",
       {pacer(3'200)},  // every 312.5 µs
       {Arrive{0, 5}},
       {at(0), at(313, 0), at(625, 0), at(938, 0), at(1'250, 0)}},
      {"a_pacer_without_burst_earns_nothing_while_idle",
       {pacer(100)},
       {Arrive{0}, Arrive{sec(1), 2}},
       {at(0), at(sec(1)), at(ms(1'010), 0)}},
      {"who_comes_too_soon_after_another_is_paced",
       {pacer(100)},
       {Arrive{0}, Arrive{ms(4)}, Arrive{ms(20)}},
       {at(0), at(ms(10), 0), at(ms(20))}},
      {"a_weight_is_paced_as_that_many",
       {pacer(100)},
       {Arrive{0, 1, 3}, Arrive{0}, Arrive{0, 1, 2}, Arrive{0}},
       {at(0), at(ms(30), 0), at(ms(40), 0), at(ms(60), 0)}},
      {"a_changed_rate_applies_from_the_next_departure_on",
       {pacer(10)},
       {Arrive{0}, Change{ms(5), {pacer(100)}}, Arrive{ms(6), 3}},
       {at(0), at(ms(10), 0), at(ms(20), 0), at(ms(30), 0)}},
      {"who_waits_profits_at_once_by_a_raised_rate",
       {pacer(1)},
       {Arrive{0, 4}, Change{ms(5), {pacer(100)}}},
       {at(0), at(ms(10), 0), at(ms(20), 0), at(ms(30), 0)}},
      {"a_lowered_rate_applies_from_the_last_departure_on",
       {pacer(100)},
       {Arrive{0}, Change{ms(5), {pacer(10)}}, Arrive{ms(6), 2}},
       {at(0), at(ms(100), 0), at(ms(200), 0)}},
      {"a_departure_taken_back_after_a_change_is_found_where_it_was",
       {pacer(100)},
       {Arrive{0, 3}, Change{ms(3), {pacer(50)}}, GiveBack{ms(5), 2}, Arrive{ms(12)}},
       {at(0), at(ms(10), 0), at(ms(20), 0), at(ms(20), 0)}},
      {"a_pacer_takes_back_the_newest",
       {pacer(100)},
       {Arrive{0, 3}, GiveBack{ms(5), 2}, Arrive{ms(12)}},
       {at(0), at(ms(10), 0), at(ms(20), 0), at(ms(20), 0)}},
      {"a_pacer_does_not_take_back_one_in_the_middle",
       {pacer(100)},
       {Arrive{0, 3}, GiveBack{ms(5), 1}, Arrive{ms(6)}},
       {at(0), at(ms(10), 0), at(ms(20), 0), at(ms(30), 0)}},
  };
}

inline std::vector<Scenario> bursts() {
  return {
      {"a_burst_leaves_at_once_and_one_more_since_the_pacer_was_idle",
       {pacer(10, 3)},
       {Arrive{0, 6}},
       times(4, at(0)) + std::vector{at(ms(100), 0), at(ms(200), 0)}},
      {"a_burst_is_earned_back_while_idle",
       {pacer(10, 3)},  // idle from 100 ms on; one second leaks 5, more than the 3 in the bucket
       {Arrive{0, 4}, Arrive{ms(1'100), 5}},
       times(4, at(0)) + times(4, at(ms(1'100))) + times(1, at(ms(1'200), 0))},
      {"a_burst_is_earned_back_in_part",
       {pacer(10, 3)},  // idle from 100 to 500 ms leaks 2 of 3
       {Arrive{0, 4}, Arrive{ms(500), 4}},
       times(4, at(0)) + times(3, at(ms(500))) + times(1, at(ms(600), 0))},
      {"a_burst_is_earned_back_at_the_rate_that_the_factor_says",
       {pacer(10, 4, 0.25)},  // 5 leave at 0; idle from 100 to 500 ms leaks 1 of 4
       {Arrive{0, 5}, Arrive{ms(500), 3}},
       times(5, at(0)) + times(2, at(ms(500))) + times(1, at(ms(600), 0))},
      {"no_burst_is_earned_while_busy",
       {pacer(10, 3)},
       {Arrive{0, 4}, Arrive{ms(100)}, Arrive{ms(200), 2}},
       times(4, at(0)) + std::vector{at(ms(100)), at(ms(200)), at(ms(300), 0)}},
      {"a_weight_across_the_burst_line_is_charged_once",
       {pacer(10, 3)},  // 3 of the weight of 5 fill the bucket, 2 are paced
       {Arrive{0, 1, 5}, Arrive{0}},
       {at(0), at(ms(200), 0)}},
      {"a_lowered_burst_is_no_debt",
       {pacer(10, 5)},  // 3 in the bucket, of which 2 fit; 1 ms leaks 0.005 of them; one more request pays for itself
       {Arrive{0, 3}, Change{ms(0.5), {pacer(10, 2)}}, Arrive{ms(1), 2}},
       times(3, at(0)) + std::vector{at(ms(1)), at(ms(101), 0)}},
      {"a_pacer_takes_back_the_newest_when_its_burst_is_used_up",
       {pacer(100, 2)},
       {Arrive{0, 5}, GiveBack{ms(5), 4}, Arrive{ms(12)}},
       times(3, at(0)) + std::vector{at(ms(10), 0), at(ms(20), 0), at(ms(20), 0)}},
  };
}

inline std::vector<Scenario> windows() {
  return {
      {"what_does_not_fit_into_a_window_leaves_in_the_next",
       {window(3, sec(1))},
       {Arrive{ms(100), 5}},
       times(3, at(ms(100))) + times(2, at(ms(1'001), 0))},
      {"the_kth_that_waits_leaves_in_the_window_of_its_turn",
       {window(2, sec(1))},
       {Arrive{ms(100), 7}},
       times(2, at(ms(100))) + times(2, at(ms(1'001), 0)) + times(2, at(ms(2'001), 0)) + times(1, at(ms(3'001), 0))},
      {"a_window_keeps_departures_off_its_edges",
       {window(5, sec(1))},
       {Arrive{ms(1'000)}, Arrive{ms(1'500)}, Arrive{ms(1'999.5)}, Arrive{ms(3'000.4)}, Arrive{ms(3'001)}},
       {at(ms(1'001), 0), at(ms(1'500)), at(ms(2'001), 0), at(ms(3'001), 0), at(ms(3'001))}},
      {"who_is_moved_over_the_edge_counts_in_the_window_beyond",
       {window(2, sec(1))},
       {Arrive{ms(1'500)}, Arrive{ms(1'999.5), 3}},
       {at(ms(1'500)), at(ms(2'001), 0), at(ms(2'001), 0), at(ms(3'001), 0)}},
      {"windows_that_nobody_used_are_lost",
       {window(2, sec(1))},
       {Arrive{ms(100)}, Arrive{ms(5'500), 5}},
       {at(ms(100)), at(ms(5'500)), at(ms(5'500)), at(ms(6'001), 0), at(ms(6'001), 0), at(ms(7'001), 0)}},
      {"a_weight_that_does_not_fit_closes_the_window",
       {window(5, sec(1))},
       {Arrive{ms(100), 1, 3}, Arrive{ms(100), 1, 3}, Arrive{ms(100)}},
       {at(ms(100)), at(ms(1'001), 0), at(ms(1'001), 0)}},
      {"windows_are_aligned_to_1970",
       {window(1, sec(7))},  // 1 786 089 600 s after 1970 is one second into a window of seven
       {Arrive{0, 3}},
       {at(0), at(ms(6'001), 0), at(ms(13'001), 0)}},
      {"spread_paces_over_the_window",
       {spread(4, sec(1))},
       {Arrive{ms(10), 6}},
       {at(ms(10)), at(ms(250), 0), at(ms(500), 0), at(ms(750), 0), at(ms(1'001), 0), at(ms(1'250), 0)}},
      {"spread_lets_those_catch_up_who_come_late_in_the_window",
       {spread(4, sec(1))},
       {Arrive{ms(600), 5}},
       {at(ms(600)), at(ms(600)), at(ms(600)), at(ms(750), 0), at(ms(1'001), 0)}},
      {"spread_gives_a_weight_the_time_of_that_many",
       {spread(4, sec(1))},
       {Arrive{ms(10), 1, 2}, Arrive{ms(10)}, Arrive{ms(10), 1, 2}},
       {at(ms(10)), at(ms(500), 0), at(ms(1'001), 0)}},
      {"a_lowered_reservoir_counts_what_has_left",
       {window(5, sec(1))},
       {Arrive{ms(100), 3}, Change{ms(200), {window(2, sec(1))}}, Arrive{ms(300)}},
       times(3, at(ms(100))) + times(1, at(ms(1'001), 0))},
      {"a_raised_reservoir_has_room_at_once",
       {window(2, sec(1))},
       {Arrive{ms(100), 2}, Change{ms(200), {window(3, sec(1))}}, Arrive{ms(300), 2}},
       times(2, at(ms(100))) + std::vector{at(ms(300)), at(ms(1'001), 0)}},
      {"a_shortened_interval_does_not_wait_for_the_end_of_the_old_one",
       {window(2, sec(3'600))},  // all known departures may have left in the window that contains now + 50 ms
       {Arrive{ms(100), 2}, Change{sec(10), {window(2, sec(1))}}, Arrive{ms(20'500)}},
       times(2, at(ms(100))) + times(1, at(ms(21'001), 0))},
      {"a_window_takes_back_what_was_not_used_in_it",
       {window(2, sec(1)), pacer(100)},
       {Arrive{ms(100), 2}, GiveBack{ms(105), 1}, Arrive{ms(300), 2}},
       {at(ms(100)), at(ms(110), 1), at(ms(300)), at(ms(1'001), 0)}},
  };
}

inline std::vector<Scenario> sliding_windows() {
  // Expected times are the limit's own interval plus 2 ms.
  return {
      {"a_sliding_window_opens_an_interval_after_the_departure",
       {sliding(3, sec(1))},
       {Arrive{ms(100), 5}},
       times(3, at(ms(100))) + times(2, at(ms(1'102), 0))},
      {"a_sliding_window_slides",
       {sliding(2, sec(1))},
       {Arrive{0}, Arrive{ms(600)}, Arrive{ms(700), 2}},
       {at(0), at(ms(600)), at(ms(1'002), 0), at(ms(1'602), 0)}},
      {"no_edge_lets_twice_as_many_through",
       {sliding(2, sec(1))},
       {Arrive{ms(950), 2}, Arrive{ms(1'050), 2}},
       times(2, at(ms(950))) + times(2, at(ms(1'952), 0))},
      {"a_weight_waits_until_that_many_have_room",
       {sliding(4, sec(1))},
       {Arrive{0, 1, 3}, Arrive{ms(100), 1, 2}, Arrive{ms(200)}},
       {at(0), at(ms(1'002), 0), at(ms(1'002), 0)}},
      {"a_weight_waits_for_the_last_of_those_in_its_way",
       {sliding(3, sec(1))},
       {Arrive{0}, Arrive{ms(300)}, Arrive{ms(600)}, Arrive{ms(700), 1, 2}, Arrive{ms(700)}},
       {at(0), at(ms(300)), at(ms(600)), at(ms(1'302), 0), at(ms(1'602), 0)}},
      {"an_idle_sliding_window_is_empty",
       {sliding(2, sec(1))},
       {Arrive{0, 2}, Arrive{sec(5), 3}},
       {at(0), at(0), at(sec(5)), at(sec(5)), at(ms(6'002), 0)}},
      {"a_lowered_max_counts_what_has_left",
       {sliding(4, sec(1))},
       {Arrive{0, 3}, Change{ms(100), {sliding(2, sec(1))}}, Arrive{ms(200), 3}},
       times(3, at(0)) + times(2, at(ms(1'002), 0)) + times(1, at(ms(2'004), 0))},
      {"a_departure_taken_back_does_not_make_room_for_one_too_many",
       {sliding(3, ms(30))},
       {Arrive{0}, Arrive{ms(10)}, Arrive{ms(20)}, Arrive{ms(21)}, GiveBack{ms(22), 3}, Arrive{ms(25)}},
       {at(0), at(ms(10)), at(ms(20)), at(ms(32), 0), at(ms(32), 0)}},
      {"a_departure_taken_back_makes_room",
       {sliding(2, sec(1)), pacer(50)},
       {Arrive{0, 2}, GiveBack{ms(10), 1}, Arrive{ms(50), 2}},
       {at(0), at(ms(20), 1), at(ms(50)), at(ms(1'002), 0)}},
  };
}

inline std::vector<Scenario> late_leavers() {
  return {
      {"who_leaves_late_counts_from_when_it_left",
       {sliding(3, sec(1))},
       {Arrive{0, 3}, LeaveLate{ms(30), 2}, LeaveLate{ms(40), 0}, Arrive{ms(100), 3}},
       times(3, at(0)) + std::vector{at(ms(1'002), 0), at(ms(1'032), 0), at(ms(1'042), 0)}},
      {"a_weight_that_leaves_late_does_so_whole",
       {sliding(4, sec(1))},
       {Arrive{0}, Arrive{ms(5), 1, 3}, LeaveLate{ms(30), 1}, Arrive{ms(100)}, Arrive{ms(100), 1, 2}},
       {at(0), at(ms(5)), at(ms(1'002), 0), at(ms(1'032), 0)}},
      {"who_leaves_when_its_place_is_long_forgotten_counts_all_the_same",
       {sliding(2, ms(100))},
       {Arrive{0, 2}, LeaveLate{sec(3), 1}, Arrive{ms(3'010), 2}},
       {at(0), at(0), at(ms(3'010)), at(ms(3'102), 0)}},
      {"who_leaves_over_the_edge_counts_in_the_window_beyond",
       {window(2, sec(1))},
       {Arrive{ms(990), 2}, LeaveLate{ms(1'005), 1}, Arrive{ms(1'100), 2}},
       {at(ms(990)), at(ms(990)), at(ms(1'100)), at(ms(2'001), 0)}},
      {"who_leaves_late_does_so_for_the_group_and_for_the_upstream",
       {sliding(2, ms(100)), per_group(sliding(1, ms(200)))},
       {Arrive{0, 2, 1, "a"}, LeaveLate{ms(30), 0}, Arrive{ms(40), 2, 1, "b"}},
       {at(0), at(ms(232), 1), at(ms(40)), at(ms(242), 1)}},
  };
}

inline std::vector<Scenario> token_buckets() {
  return {
      {"a_bucket_starts_full",
       {bucket(3, 1, ms(100))},
       {Arrive{0, 5}},
       times(3, at(0)) + std::vector{at(ms(100), 0), at(ms(200), 0)}},
      {"a_bucket_of_one_is_a_pacer", {bucket(1, 1, ms(100))}, {Arrive{0, 3}}, {at(0), at(ms(100), 0), at(ms(200), 0)}},
      {"idle_time_refills_and_is_not_subtracted",
       {bucket(100, 10, sec(1))},  // half of it refills in 5 s
       {Arrive{0, 100}, Arrive{sec(5), 51}},
       times(100, at(0)) + times(50, at(sec(5))) + times(1, at(sec(6), 0))},
      {"refills_keep_the_phase_of_the_first_departure",
       {bucket(2, 1, ms(100))},
       {Arrive{0, 2}, Arrive{ms(150)}, Arrive{ms(160)}},
       {at(0), at(0), at(ms(150)), at(ms(200), 0)}},
      {"a_refill_serves_as_many_as_it_brings",
       {bucket(4, 2, ms(100))},
       {Arrive{0, 7}},
       times(4, at(0)) + times(2, at(ms(100), 0)) + times(1, at(ms(200), 0))},
      {"no_more_than_the_capacity_is_kept",
       {bucket(3, 1, ms(100))},
       {Arrive{0}, Arrive{sec(10), 5}},
       times(1, at(0)) + times(3, at(sec(10))) + std::vector{at(ms(10'100), 0), at(ms(10'200), 0)}},
      {"a_weight_waits_for_that_many_tokens",
       {bucket(5, 1, ms(100))},
       {Arrive{0, 1, 5}, Arrive{0, 1, 3}, Arrive{0}},
       {at(0), at(ms(300), 0), at(ms(400), 0)}},
      {"a_raised_capacity_keeps_what_was_used",
       {bucket(5, 1, sec(1))},
       {Arrive{0, 5}, Change{ms(100), {bucket(8, 1, sec(1))}}, Arrive{ms(200), 4}},
       times(5, at(0)) + times(3, at(ms(200))) + times(1, at(sec(1), 0))},
      {"a_lowered_capacity_keeps_what_was_used",
       {bucket(5, 1, sec(1))},
       {Arrive{0, 2}, Change{ms(100), {bucket(3, 1, sec(1))}}, Arrive{ms(200), 2}},
       times(2, at(0)) + std::vector{at(ms(200)), at(sec(1), 0)}},
      {"a_bucket_takes_back_a_token_of_the_current_period",
       {bucket(2, 1, ms(100))},
       {Arrive{0, 3}, GiveBack{ms(60), 2}, Arrive{ms(70)}},
       {at(0), at(0), at(ms(100), 0), at(ms(100), 0)}},
  };
}

inline std::vector<Scenario> counters() {
  return {
      {"a_counter_opens_again_a_period_after_the_first_departure",
       {counter(2, sec(1))},
       {Arrive{ms(100), 5}},
       times(2, at(ms(100))) + times(2, at(ms(1'100), 0)) + times(1, at(ms(2'100), 0))},
      {"a_counter_is_reset_while_nobody_asks",
       {counter(2, sec(1))},
       {Arrive{ms(100), 2}, Arrive{ms(1'500)}, Arrive{ms(1'600), 2}},
       times(2, at(ms(100))) + std::vector{at(ms(1'500)), at(ms(1'600)), at(ms(2'100), 0)}},
      {"a_long_gap_earns_one_period_and_not_several",
       {counter(2, sec(1))},
       {Arrive{ms(100)}, Arrive{sec(10), 5}},
       times(1, at(ms(100))) + times(2, at(sec(10))) + times(2, at(ms(10'100), 0)) + times(1, at(ms(11'100), 0))},
      {"a_departure_booked_before_a_reset_counts_before_it",
       {counter(2, ms(100))},  // reset due at 99 ms, but a departure is booked at 110 ms: the reset takes place then
       {Arrive{0}, Pause{ms(80), ms(110)}, Arrive{ms(85), 3}},
       {at(0), at(ms(110), kPause), at(ms(111), 0), at(ms(111), 0)}},
      {"a_weight_that_does_not_fit_waits_for_the_reset",
       {counter(5, sec(1))},
       {Arrive{ms(100), 1, 3}, Arrive{ms(100), 1, 3}, Arrive{ms(100)}},
       {at(ms(100)), at(ms(1'100), 0), at(ms(1'100), 0)}},
      {"a_raised_max_has_room_at_once",
       {counter(2, sec(1))},
       {Arrive{ms(100), 2}, Change{ms(200), {counter(3, sec(1))}}, Arrive{ms(300), 2}},
       times(2, at(ms(100))) + std::vector{at(ms(300)), at(ms(1'100), 0)}},
      {"a_shortened_period_counts_from_the_last_reset",
       {counter(2, sec(1))},
       {Arrive{ms(100), 2}, Change{ms(200), {counter(2, ms(500))}}, Arrive{ms(300)}},
       times(2, at(ms(100))) + times(1, at(ms(600), 0))},
      {"a_counter_takes_back_what_was_not_used_before_the_reset",
       {counter(2, sec(1)), pacer(50)},
       {Arrive{0, 2}, GiveBack{ms(10), 1}, Arrive{ms(50), 2}},
       {at(0), at(ms(20), 1), at(ms(50)), at(ms(1'000), 0)}},
  };
}

inline std::vector<Scenario> several_limits() {
  return {
      {"the_latest_frontier_decides",
       {pacer(100), window(2, sec(1))},
       {Arrive{ms(100), 4}},
       {at(ms(100)), at(ms(110), 0), at(ms(1'001), 1), at(ms(1'011), 0)}},
      {"on_a_tie_the_first_in_the_file_is_named",
       {bucket(1, 1, ms(100)), pacer(10)},
       {Arrive{0, 3}},
       {at(0), at(ms(100), 0), at(ms(200), 0)}},
      {"what_one_limit_denies_costs_the_other_nothing",
       {pacer(100), sliding(1, sec(1))},
       {Arrive{0}, Arrive{ms(5)}, Arrive{ms(10)}},
       {at(0), at(ms(1'002), 1), at(ms(2'004), 1)}},
      {"three_limits_take_turns_in_deciding",
       {bucket(3, 3, sec(1)), pacer(20), window(5, sec(10))},
       {Arrive{ms(100), 6}},
       {at(ms(100)), at(ms(150), 1), at(ms(200), 1), at(ms(1'100), 0), at(ms(1'150), 1), at(ms(10'001), 2)}},
      {"two_windows_keep_a_departure_off_the_edges_of_both",
       {window(9, ms(100)), named("other", window(9, ms(101)))},
       // 1 786 089 600 000 ms after 1970 is 55 ms into a window of 101: edges at 46 ms, and at 46 + 53 · 101 = 5 399.
       {Arrive{ms(45.5)}, Arrive{ms(50)}, Arrive{ms(5'398.5)}},
       {at(ms(47), 1), at(ms(50)), at(ms(5'401), 0)}},
  };
}

inline std::vector<Scenario> holds() {
  return {
      {"nobody_leaves_during_a_pause",
       {pacer(100)},
       {Pause{0, ms(500)}, Arrive{ms(100), 2}},
       {at(ms(500), kPause), at(ms(510), 0)}},
      {"a_pause_needs_no_limit",
       {},
       {Pause{0, ms(300)}, Arrive{ms(100), 2}, Arrive{ms(400)}},
       {at(ms(300), kPause), at(ms(300), kPause), at(ms(400))}},
      {"a_shorter_pause_does_not_end_a_longer_one",
       {},
       {Pause{0, ms(500)}, Pause{ms(10), ms(200)}, Arrive{ms(100)}},
       {at(ms(500), kPause)}},
      {"what_is_booked_stays_booked_in_a_pause",
       {pacer(50)},
       {Arrive{0, 3}, Pause{ms(5), ms(300)}, Arrive{ms(6)}},
       {at(0), at(ms(20), 0), at(ms(40), 0), at(ms(300), kPause)}},
      {"the_pause_of_a_group_holds_that_group_alone",
       {pacer(100)},
       {Pause{0, ms(300), "a"}, Arrive{ms(50), 1, 1, "a"}, Arrive{ms(60), 1, 1, "b"}, Arrive{ms(200), 1, 1, "b"}},
       {at(ms(300), kPause), at(ms(60)), at(ms(200))}},
  };
}

inline std::vector<Scenario> groups() {
  return {
      {"groups_do_not_disturb_each_other",
       {per_group(window(2, sec(1)))},
       {Arrive{ms(100), 3, 1, "a"}, Arrive{ms(100), 1, 1, "b"}},
       {at(ms(100)), at(ms(100)), at(ms(1'001), 0), at(ms(100))}},
      {"a_group_alone_may_book_up_to_the_horizon",
       {per_group(pacer(50))},
       {Arrive{0, 4, 1, "a"}, Arrive{ms(1), 2, 1, "b"}},
       {at(0), at(ms(20), 0), at(ms(40), 0), at(ms(60), 0), at(ms(1)), at(ms(21), 0)}},
      {"a_waiting_group_leaves_no_hole_in_the_limits_of_the_upstream",
       {per_group(bucket(1, 1, sec(10))), pacer(10)},
       {Arrive{0, 2, 1, "a"}, Arrive{0, 1, 1, "b"}, Arrive{ms(1), 1, 1, "c"}},
       {at(0), at(sec(10), 0), at(ms(100), 1), at(ms(200), 1)}},
      {"a_group_five_milliseconds_beyond_the_upstream_commits_both",
       {pacer(100), per_group(pacer(80))},
       {Arrive{0, 3, 1, "a"}},
       {at(0), at(ms(12.5), 1), at(ms(25), 1)}},
      {"groups_that_wait_for_the_same_moment_are_spaced_by_the_upstream",
       {pacer(50), per_group(window(1, sec(1)))},
       {Arrive{ms(100), 2, 1, "a"}, Arrive{ms(110), 2, 1, "b"}},
       {at(ms(100)), at(ms(1'001), 1), at(ms(120), 0), at(ms(1'021), 0)}},
      {"each_group_has_a_counter_of_its_own",
       {per_group(counter(1, sec(1)))},
       {Arrive{ms(100), 2, 1, "a"}, Arrive{ms(300), 2, 1, "b"}},
       {at(ms(100)), at(ms(1'100), 0), at(ms(300)), at(ms(1'300), 0)}},
      {"a_limit_that_comes_and_one_that_goes_leave_the_others_as_they_are",
       {bucket(2, 1, sec(1)), counter(9, sec(5))},
       {Arrive{0}, Change{ms(10), {sliding(9, sec(1)), bucket(2, 1, sec(1))}}, Arrive{ms(20), 2}},
       {at(0), at(ms(20)), at(sec(1), 1)}},
      {"who_waits_for_a_limit_that_goes_leaves_at_once",
       {bucket(1, 1, sec(1)), counter(9, sec(5))},
       {Arrive{0, 3}, Change{ms(10), {counter(9, sec(5))}}},
       {at(0), at(ms(10), kNoLimit), at(ms(10), kNoLimit)}},
      {"limits_in_another_order_are_named_by_their_new_numbers",
       {bucket(1, 1, sec(1)), pacer(1'000)},
       {Arrive{0, 2}, Change{ms(10), {pacer(1'000), bucket(1, 1, sec(1))}}},
       {at(0), at(sec(1), 1)}},
      {"limits_of_groups_that_stay_remember_what_has_left",
       {per_group(bucket(1, 1, sec(1))), pacer(1'000)},
       {Arrive{0, 2, 1, "a"},
        Change{ms(10), {pacer(1'000), per_group(counter(5, sec(3))), per_group(bucket(1, 1, sec(1)))}},
        Arrive{ms(20), 1, 1, "b"}},
       {at(0), at(sec(1), 2), at(ms(20))}},
      {"changed_parameters_apply_to_all_groups",
       {per_group(bucket(1, 1, sec(1)))},
       {Arrive{0, 1, 1, "a"}, Arrive{0, 1, 1, "b"}, Change{ms(10), {per_group(bucket(2, 1, sec(1)))}},
        Arrive{ms(20), 2, 1, "a"}, Arrive{ms(30), 1, 1, "b"}},
       {at(0), at(0), at(ms(20)), at(sec(1), 0), at(ms(30))}},
  };
}

inline std::vector<Scenario> refusals() {
  return {
      {"a_pacer_that_refuses_lets_nobody_wait",
       {refusing(pacer(10))},
       {Arrive{0, 3}, Arrive{ms(100)}},
       {at(0), refused(0), refused(0), at(ms(100))}},
      {"a_full_counter_refuses_until_its_reset",
       {refusing(counter(2, sec(1)))},
       {Arrive{ms(100), 3}, Arrive{ms(1'200)}},
       {at(ms(100)), at(ms(100)), refused(0), at(ms(1'200))}},
      {"what_is_refused_leaves_no_trace",
       {refusing(sliding(1, sec(1)))},
       {Arrive{0}, Arrive{ms(100), 5}, Arrive{ms(1'002), 2}},
       std::vector{at(0)} + times(5, refused(0)) + std::vector{at(ms(1'002)), refused(0)}},
      {"a_limit_that_refuses_does_not_where_another_delays_longer",
       {refusing(window(1, ms(200))), pacer(2)},
       {Arrive{ms(50), 2}},
       {at(ms(50)), at(ms(550), 1)}},
      {"a_limit_that_refuses_does_where_the_others_delay_less",
       {refusing(window(2, sec(1))), pacer(10)},
       {Arrive{ms(100)}, Arrive{ms(250)}, Arrive{ms(300)}},
       {at(ms(100)), at(ms(250)), refused(0)}},
      {"a_pause_delays_and_so_outweighs_a_limit_that_refuses",
       {refusing(window(1, sec(1)))},
       {Arrive{ms(100)}, Pause{ms(150), ms(3'500)}, Arrive{ms(200)}},
       {at(ms(100)), at(ms(3'500), kPause)}},
      {"the_limit_of_a_group_refuses_that_group_alone",
       {refusing(per_group(bucket(1, 1, sec(1)))), pacer(1'000)},
       {Arrive{0, 2, 1, "a"}, Arrive{ms(10), 1, 1, "b"}},
       {at(0), refused(0), at(ms(10))}},
  };
}

inline std::vector<Scenario> all() {
  std::vector<Scenario> table;
  for (auto part : {pacers(), bursts(), windows(), sliding_windows(), late_leavers(), token_buckets(), counters(),
                    several_limits(), holds(), groups(), refusals(), costs()}) {
    table.insert(table.end(), part.begin(), part.end());
  }
  return table;
}

}  // namespace penstock::scenarios
