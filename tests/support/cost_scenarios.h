// SPDX-License-Identifier: Apache-2.0
// The part of the table of scenarios.h in which limits count what requests cost, and learn afterwards what that was.
#pragma once

#include <vector>

#include "support/scenario.h"

namespace penstock::scenarios {

// - A request leaves when one unit is free. What does not fit is a debt: of a slidingWindow it counts when older units
//   leave, of a window and a counter in the next periods, a tokenBucket owes it, and a pacer lets the next leave later.
// - Taken back of what was reserved in vain: slidingWindow, all of it, its last units first; window and counter, if the
//   period of that departure has not ended, and of a window what was carried over from that; pacer, of the newest
//   departure alone. A tokenBucket remembers from its first correction on how many tokens were in use; of a departure
//   before that it has less back by the refills since, of which one that has just begun counts whole.
inline std::vector<Scenario> costs_of_buckets_and_pacers() {
  return {
      {"a_bucket_gives_back_what_no_refill_can_have_paid",
       {of_tokens(bucket(10, 1, ms(100)))},
       {Arrive{0, 1, 1, {}, 10}, Settle{ms(5), 0, 4}, Arrive{ms(6), 1, 1, {}, 6}, Arrive{ms(7)}},
       {at(0), at(ms(6)), at(ms(200), 0)}},  // five of the six came back, and one of six is owed
      {"a_bucket_that_remembers_gives_all_back",
       {of_tokens(bucket(10, 1, ms(100)))},
       {Arrive{0}, Settle{0, 0, 0}, Arrive{ms(1), 1, 1, {}, 9}, Settle{ms(250), 1, 3}, Arrive{ms(260), 1, 1, {}, 9},
        Arrive{ms(270)}},
       {at(0), at(ms(1)), at(ms(260)), at(ms(300), 0)}},  // 9 less 2 refills and 6 are 1
      {"a_bucket_lets_a_debt_be_paid_first",
       {of_tokens(bucket(10, 1, ms(100)))},
       {Arrive{0, 1, 1, {}, 10}, Settle{ms(5), 0, 13}, Arrive{ms(6)}},
       {at(0), at(ms(400), 0)}},
      {"a_bucket_goes_by_when_one_was_booked_that_left_late",
       {of_tokens(bucket(10, 1, ms(100)))},
       {Arrive{0, 1, 1, {}, 5}, Arrive{ms(210), 1, 1, {}, 5}, LeaveLate{ms(250), 0}, Settle{ms(260), 0, 0},
        Arrive{ms(270), 1, 1, {}, 4}, Arrive{ms(280)}},
       {at(0), at(ms(210)), at(ms(270)), at(ms(300), 0)}},  // the refills may have paid three of the five
      {"a_pacer_gives_back_what_its_newest_departure_took_too_much",
       {of_tokens(pacer(100))},
       {Arrive{0, 1, 1, {}, 30}, Settle{ms(50), 0, 10}, Arrive{ms(60)}, Settle{ms(150), 1, 6}, Arrive{ms(160)}},
       {at(0), at(ms(100), 0), at(ms(200), 0)}},
      {"a_pacer_gives_nothing_back_of_what_others_have_left_behind",
       {of_tokens(pacer(100))},
       {Arrive{0, 1, 1, {}, 3}, Arrive{ms(1), 1, 1, {}, 4}, Settle{ms(40), 0, 1}, Arrive{ms(41)}},
       {at(0), at(ms(30), 0), at(ms(70), 0)}},
      {"a_burst_takes_back_what_was_too_much",
       {of_tokens(pacer(10, 8))},
       {Arrive{0, 1, 1, {}, 10}, Settle{ms(1), 0, 2}, Arrive{ms(1), 1, 1, {}, 6}, Arrive{ms(1)}, Arrive{ms(2)}},
       {at(0), at(ms(1)), at(ms(1)), at(ms(100.5), 0)}},  // of 2, 0.005 leaked in 1 ms; 0.995 of the 9 do not fit
      {"a_pacer_gives_back_of_one_that_left_late",
       {of_tokens(pacer(100))},
       {Arrive{0, 1, 1, {}, 30}, LeaveLate{ms(20), 0}, Settle{ms(50), 0, 10}, Arrive{ms(60)}},
       {at(0), at(ms(100), 0)}},
  };
}

inline std::vector<Scenario> costs_of_windows_and_counters() {
  return {
      {"a_window_gives_back_within_itself",
       {of_tokens(window(10, sec(1)))},
       {Arrive{ms(100), 1, 1, {}, 10}, Settle{ms(200), 0, 4}, Arrive{ms(300), 1, 1, {}, 6}, Arrive{ms(400)}},
       {at(ms(100)), at(ms(300)), at(ms(1'001), 0)}},
      {"a_window_has_nothing_back_of_the_one_before",
       {of_tokens(window(10, sec(1)))},
       {Arrive{ms(900), 1, 1, {}, 10}, Arrive{ms(1'100), 1, 1, {}, 10}, Settle{ms(1'200), 0, 4}, Arrive{ms(1'300)}},
       {at(ms(900)), at(ms(1'100)), at(ms(2'001), 0)}},
      {"a_window_carries_over_what_does_not_fit",
       {of_tokens(window(10, sec(1)))},
       {Arrive{ms(100), 1, 1, {}, 25}, Arrive{ms(200), 1, 1, {}, 5}, Arrive{ms(300)}},
       {at(ms(100)), at(ms(2'001), 0), at(ms(3'001), 0)}},
      {"a_window_has_back_what_was_carried_over",
       {of_tokens(window(10, sec(1)))},
       {Arrive{ms(100), 1, 1, {}, 25}, Arrive{ms(200), 1, 1, {}, 8}, Settle{ms(300), 0, 12}, Arrive{ms(400)}},
       {at(ms(100)), at(ms(1'001), 0), at(ms(2'001), 0)}},
      {"a_window_has_back_what_was_carried_over_when_others_have_left",
       {of_tokens(window(10, sec(1)))},
       {Arrive{ms(900), 1, 1, {}, 15}, Arrive{ms(1'100), 1, 1, {}, 2}, Settle{ms(1'200), 0, 4},
        Arrive{ms(1'300), 1, 1, {}, 8}, Arrive{ms(1'400)}},
       {at(ms(900)), at(ms(1'100)), at(ms(1'300)), at(ms(2'001), 0)}},
      {"a_counter_carries_over_what_does_not_fit",
       {of_tokens(counter(10, sec(1)))},
       {Arrive{0, 1, 1, {}, 25}, Arrive{ms(10), 1, 1, {}, 5}, Arrive{ms(20)}},
       {at(0), at(sec(2), 0), at(sec(3), 0)}},
      {"a_counter_gives_back_until_its_reset",
       {of_tokens(counter(10, sec(1)))},
       {Arrive{0, 1, 1, {}, 10}, Settle{ms(100), 0, 4}, Arrive{ms(200), 1, 1, {}, 6}, Settle{ms(1'100), 0, 0},
        Arrive{ms(1'200), 1, 1, {}, 10}},
       {at(0), at(ms(200)), at(ms(1'200))}},
      {"a_counter_goes_by_when_one_was_booked_that_left_late",
       {of_tokens(counter(10, sec(1)))},
       {Arrive{0, 1, 1, {}, 2}, Arrive{ms(990), 1, 1, {}, 8}, Arrive{ms(1'005), 1, 1, {}, 8}, LeaveLate{ms(1'010), 1},
        Settle{ms(1'020), 1, 0}, Arrive{ms(1'030), 1, 1, {}, 2}, Arrive{ms(1'040)}},
       {at(0), at(ms(990)), at(ms(1'005)), at(ms(1'030)), at(sec(2), 0)}},
  };
}

inline std::vector<Scenario> costs_of_sliding_windows() {
  return {
      {"a_sliding_window_gives_back_what_stands_at_that_time",
       {of_tokens(sliding(10, sec(1)))},
       {Arrive{0, 1, 1, {}, 6}, Arrive{ms(10), 1, 1, {}, 2}, Settle{ms(20), 0, 1}, Arrive{ms(30), 1, 1, {}, 7},
        Arrive{ms(40)}},
       {at(0), at(ms(10)), at(ms(30)), at(ms(1'002), 0)}},
      {"a_sliding_window_counts_a_debt_from_when_it_is_known",
       {of_tokens(sliding(10, sec(1)))},
       {Arrive{0, 1, 1, {}, 10}, Settle{ms(100), 0, 15}, Arrive{ms(200), 1, 1, {}, 6}},
       {at(0), at(ms(1'002), 0)}},
      {"a_sliding_window_counts_what_does_not_fit_when_older_units_leave",
       {of_tokens(sliding(10, sec(1)))},
       {Arrive{0, 1, 1, {}, 6}, Arrive{ms(100), 1, 1, {}, 8}, Arrive{ms(200), 1, 1, {}, 3}, Arrive{ms(300)}},
       {at(0), at(ms(100)), at(ms(1'002), 0), at(ms(1'102), 0)}},  // two of 10 are left for the third
      {"a_sliding_window_gives_back_what_did_not_fit_first",
       {of_tokens(sliding(10, sec(1)))},
       {Arrive{0, 1, 1, {}, 6}, Arrive{ms(100), 1, 1, {}, 5}, Arrive{ms(200), 1, 1, {}, 2}, Settle{ms(300), 1, 2},
        Arrive{ms(400)}},
       {at(0), at(ms(100)), at(ms(300), 0), at(ms(1'002), 0)}},
      {"a_sliding_window_has_room_for_what_is_still_to_come",
       {of_tokens(sliding(10, sec(1)))},
       {Arrive{0, 1, 1, {}, 8}, Arrive{ms(100), 1, 1, {}, 6}, Settle{ms(200), 0, 3}, Arrive{ms(300)}, Arrive{ms(400)}},
       {at(0), at(ms(100)), at(ms(300)), at(ms(1'002), 0)}},
      {"a_sliding_window_goes_by_when_one_has_left_late",
       {of_tokens(sliding(10, sec(1)))},
       {Arrive{0, 1, 1, {}, 6}, LeaveLate{ms(100), 0}, Settle{ms(200), 0, 2}, Arrive{ms(300), 1, 1, {}, 8},
        Arrive{ms(400)}},
       {at(0), at(ms(300)), at(ms(1'102), 0)}},
      {"limits_without_a_unit_count_weights_beside_it",
       {sliding(2, sec(1)), of_tokens(bucket(100, 1, sec(1)))},
       {Arrive{0, 2, 1, {}, 40}, Arrive{ms(1), 1, 1, {}, 20}},
       {at(0), at(0), at(ms(1'002), 0)}},
      {"a_limit_of_a_group_counts_its_cost",
       {of_tokens(per_group(sliding(10, sec(1)))), pacer(1'000)},
       {Arrive{0, 1, 1, "a", 8}, Arrive{ms(1), 1, 1, "a", 4}, Arrive{ms(2), 1, 1, "b", 10}, Settle{ms(10), 2, 3},
        Arrive{ms(11), 1, 1, "b", 7}, Arrive{ms(12), 1, 1, "a"}},
       {at(0), at(ms(1)), at(ms(2)), at(ms(11)), at(ms(1'002), 0)}},
  };
}

inline std::vector<Scenario> costs() {
  std::vector<Scenario> all = costs_of_buckets_and_pacers();
  for (const auto& more : {costs_of_windows_and_counters(), costs_of_sliding_windows()})
    all.insert(all.end(), more.begin(), more.end());
  return all;
}

}  // namespace penstock::scenarios
