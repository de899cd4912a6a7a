// SPDX-License-Identifier: Apache-2.0
// What windows learn of what strangers take: an answer tells what the upstream has counted.
#include <gtest/gtest.h>

#include <type_traits>

#include "flow/keeps.h"
#include "flow/sliding_window.h"
#include "flow/window.h"

namespace penstock::flow {
namespace {

constexpr Instant at(double seconds) { return kThisYear + seconds * kOneSecond; }
constexpr Counted counted(std::int64_t count, double departed, double resets = 10) {
  return {.count = count, .resets = at(resets), .departed = at(departed)};
}

/// Both kinds, with 10 units in 10 s, of which some left by now.
template <typename Kind>
class Learning : public testing::Test {
 protected:
  static constexpr bool slides = std::is_same_v<Kind, SlidingWindow>;
  void leave(double second, int units = 1) {
    window.refresh(at(second));
    window.commit(at(second), units);
  }
  void learn(double now, const Counted& told) {
    window.refresh(at(now));
    window.learn(at(now), told);
  }
  /// How many more may leave before the upstream's window ends at second 10.
  int left(double now) {
    window.refresh(at(now));
    int units = 10;
    while (units > 0 && window.frontier(units) > at(now)) --units;
    return units;
  }

  std::conditional_t<slides, SlidingWindowConfig, WindowConfig> config{10, 10s};
  Kind window{config};
};

using Kinds = testing::Types<Window, SlidingWindow>;
TYPED_TEST_SUITE(Learning, Kinds);

TYPED_TEST(Learning, what_is_counted_beyond_ours_is_not_for_us) {
  this->leave(1, 3);
  this->learn(1.1, counted(7, 1));
  EXPECT_EQ(this->left(1.2), 3);
  EXPECT_EQ(this->window.ahead(at(1.2), 2), at(1.2));
  EXPECT_GE(this->window.ahead(at(1.2), 3), at(10));
}

TYPED_TEST(Learning, the_end_of_the_window_clears_it) {
  this->leave(1);
  this->learn(1.1, counted(10, 1));
  EXPECT_EQ(this->left(9.9), 0);
  EXPECT_EQ(this->window.frontier(1), at(10));
  EXPECT_EQ(this->left(10), this->slides ? 9 : 10);
  this->leave(10.1);
  EXPECT_EQ(this->left(11.1), 9);
}

/// What is in flight may be counted already, or not.
TYPED_TEST(Learning, what_is_in_flight_is_not_taken_for_strangers) {
  this->leave(1, 2);
  this->leave(2, 3);
  this->learn(2.1, counted(5, 1));
  EXPECT_EQ(this->left(2.2), 5);
}

TYPED_TEST(Learning, what_was_learned_stays_while_more_of_ours_fly) {
  this->leave(1);
  this->learn(1.1, counted(5, 1));
  EXPECT_EQ(this->left(1.2), 5);
  this->leave(2, 3);
  this->learn(2.1, counted(6, 2));
  EXPECT_EQ(this->left(2.2), 2);
}

TYPED_TEST(Learning, a_later_answer_may_lower_it) {
  this->leave(1);
  this->learn(1.1, counted(9, 1));
  EXPECT_EQ(this->left(1.2), 1);
  this->leave(2);
  this->learn(2.1, counted(3, 2));
  EXPECT_GE(this->left(2.2), 6);
}

TYPED_TEST(Learning, an_answer_to_an_earlier_request_says_nothing_new) {
  this->leave(1);
  this->leave(3);
  this->learn(3.1, counted(5, 3));
  this->learn(3.2, counted(9, 1));
  EXPECT_EQ(this->left(3.3), 5);
}

/// They may have been counted in the other order.
TYPED_TEST(Learning, of_requests_that_left_together_the_answer_that_tells_of_more_counts) {
  this->leave(1);
  this->leave(1.01);
  this->learn(1.1, counted(5, 1.01));
  this->learn(1.1, counted(6, 1));
  EXPECT_EQ(this->left(1.2), 4);
  this->learn(1.1, counted(4, 1));
  EXPECT_EQ(this->left(1.2), 4) << "and does not lower it";
}

TYPED_TEST(Learning, a_window_that_has_ended_says_nothing) {
  this->leave(1);
  this->learn(1.5, counted(9, 1, 1.4));
  EXPECT_EQ(this->left(1.6), 9);
}

TYPED_TEST(Learning, without_a_request_of_ours_in_the_window_nothing_is_learned) {
  this->learn(1.5, counted(9, 1));
  EXPECT_EQ(this->left(1.6), 10);
  EXPECT_EQ(this->window.frontier(1), kAlways) << "a group that is not remembered shares its limit with others";
}

TYPED_TEST(Learning, more_than_the_limit_may_be_counted) {
  this->leave(1);
  this->learn(1.1, counted(5'000, 1));
  EXPECT_EQ(this->left(1.2), 0);
  EXPECT_EQ(this->window.ahead(at(1.2), 0), at(10));
}

TYPED_TEST(Learning, is_not_forgotten_before_the_window_ends) {
  this->leave(1);
  this->learn(1.1, counted(9, 1));
  EXPECT_GE(this->window.forgettable_at(), at(10));
}

TEST(LearningWindow, a_reset_in_whole_seconds_names_its_window) {
  const WindowConfig config{.reservoir = 10, .interval = 10s};
  Window window(config);
  window.commit(at(1.4), 1);
  window.learn(at(1.5), counted(4, 1.4, 10.5));
  EXPECT_EQ(window.frontier(7), at(10));
  window.learn(at(1.6), counted(9, 1.4, 12));
  EXPECT_LT(window.frontier(6), at(10)) << "that is another window";
}

/// A window that spreads slows down: what remains is spread over the rest.
TEST(LearningWindow, what_strangers_take_moves_the_next_departure) {
  const WindowConfig config{.reservoir = 10, .interval = 10s, .spread = true};
  Window window(config);
  window.commit(at(1), 1);
  EXPECT_EQ(window.frontier(1), at(1));
  window.learn(at(1.1), counted(4, 1));
  EXPECT_EQ(window.frontier(1), at(4));
}

TEST(LearningWindow, forgets_it_where_its_interval_changes) {
  WindowConfig config{.reservoir = 10, .interval = 10s};
  Window window(config);
  window.commit(at(1), 1);
  window.learn(at(1.1), counted(9, 1));
  config.interval = 20s;
  window.refresh(at(1.2));
  EXPECT_LE(window.frontier(9), at(1.2));
}

/// The windows of the upstream begin when it likes; ours of before do not count in its new one.
TEST(LearningSlidingWindow, goes_by_the_window_of_the_upstream) {
  const SlidingWindowConfig config{.max = 10, .interval = 10s};
  SlidingWindow window(config);
  window.commit(at(1), 4);
  window.commit(at(4), 1);
  window.learn(at(4.1), counted(6, 4, 13));
  EXPECT_LE(window.frontier(4), at(4.2)) << "1 of ours, 5 of strangers";
  EXPECT_EQ(window.frontier(5), at(13));
}

TEST(LearningSlidingWindow, what_left_just_before_the_window_may_count_in_it) {
  const SlidingWindowConfig config{.max = 10, .interval = 10s};
  SlidingWindow window(config);
  window.commit(at(2.9), 2);
  window.commit(at(3.1), 1);
  window.learn(at(3.4), counted(3, 3.1, 13));
  EXPECT_LE(window.frontier(7), at(3.5)) << "nothing is the strangers'";
}

TEST(LearningSlidingWindow, keeps_it_when_the_clock_is_corrected) {
  const SlidingWindowConfig config{.max = 10, .interval = 10s};
  SlidingWindow window(config);
  window.commit(at(1), 1);
  window.learn(at(1.1), counted(9, 1));
  window.shift(3 * kOneSecond);
  EXPECT_EQ(window.frontier(2), at(13));
  EXPECT_LE(window.frontier(1), at(4.2));
}

}  // namespace
}  // namespace penstock::flow
