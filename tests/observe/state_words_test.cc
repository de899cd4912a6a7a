// SPDX-License-Identifier: Apache-2.0
// The words for pauses and for requests that were sent again.
#include "observe/state_words.h"

#include <gtest/gtest.h>

namespace penstock::observe {
namespace {

using namespace std::chrono_literals;

TEST(StateWords, say_who_asked_for_the_pause_how_long_it_lasts_and_what_comes_then) {
  EXPECT_EQ(state_in_words({}), "");
  EXPECT_EQ(state_in_words({.pause = PauseSnapshot{.status = 429, .left = 700ms}}),
            "PAUSED by the API (429) for 0.7 s; then one probe");
  EXPECT_EQ(state_in_words({.pause = PauseSnapshot{.status = 503, .left = 20ms, .of_all = false}}),
            "partly PAUSED by the API (503) for 20 ms; then one probe");
  EXPECT_EQ(state_in_words({.pause = PauseSnapshot{.left = 61s}}), "PAUSED by the API for 61 s; then one probe");
}

TEST(StateWords, say_of_an_upstream_that_cannot_be_reached_when_it_is_tried) {
  EXPECT_EQ(state_in_words({.unreachable = true, .next_try = 3900ms}), "UNREACHABLE; next try in 3.9 s");
  EXPECT_EQ(state_in_words({.unreachable = true}), "UNREACHABLE; one request at a time tries");
}

TEST(StateWords, say_how_often_a_request_was_sent_again) {
  EXPECT_EQ(again_in_words(0), "");
  EXPECT_EQ(again_in_words(1), "asked again once");
  EXPECT_EQ(again_in_words(2), "asked again 2 times");
}

}  // namespace
}  // namespace penstock::observe
