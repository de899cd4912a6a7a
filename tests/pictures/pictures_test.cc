// SPDX-License-Identifier: Apache-2.0
// Do the pictures in docs/ show what the limits do? Compares departures, not pixels.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "pictures/drawing.h"

namespace penstock::pictures {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

const Story& story_of(const std::vector<Story>& all, const std::string& file) {
  return *std::ranges::find(all, file, &Story::file);
}

std::vector<flow::Time> departures_of(const std::string& file) {
  const std::vector<Story> all = stories();
  std::vector<flow::Time> times;
  for (const Request& request : simulate(story_of(all, file).limit, story_of(all, file).requests)) {
    times.push_back(request.leaves / 1000);
  }
  return times;
}

/// What the picture in docs/ says about each request.
std::vector<std::string> shown_in(const std::string& file) {
  std::ifstream in(std::string(PENSTOCK_TREE) + "/docs/pictures/" + file);
  const std::string svg(std::istreambuf_iterator<char>(in), {});
  constexpr std::string_view kBegin = "<g><title>", kEnd = "</title>";
  std::vector<std::string> found;
  for (std::size_t at = 0; (at = svg.find(kBegin, at)) != svg.npos;) {
    at += kBegin.size();
    found.push_back(svg.substr(at, svg.find(kEnd, at) - at));
  }
  return found;
}

TEST(Pictures, show_the_departures_that_the_limits_give) {
  EXPECT_THAT(stories(), SizeIs(std::variant_size_v<LimitConfig::Kind>));
  for (const Story& story : stories()) {
    std::vector<std::string> wanted;
    for (const Request& request : simulate(story.limit, story.requests)) wanted.push_back(told(request));
    EXPECT_EQ(shown_in(story.file), wanted) << "script/pictures draws docs/pictures/" << story.file;
  }
}

TEST(Pictures, hold_every_request_from_its_arrival_to_its_landing) {
  for (const Story& story : stories()) {
    for (const Request& request : simulate(story.limit, story.requests)) {
      EXPECT_GE(request.leaves, request.arrives) << story.file;
      EXPECT_LE(request.leaves + request.flies, story.lasts) << story.file;
    }
  }
}

// Worked out by hand, in milliseconds.

TEST(Stories, a_pacer_lets_a_burst_go_and_spreads_the_rest) {
  // Twelve from 100 on, 20 apart. Three fill the bucket, which leaks 0.1 between any two; so at the fourth it lacks
  // 0.3, and the other 0.7 of that request is paced: free again at 230, then every 100. From 1030 to 2000 it runs
  // empty.
  EXPECT_THAT(departures_of("pacer.svg"), ElementsAre(100, 120, 140, 160, 230, 330, 430, 530, 630, 730, 830, 930,  //
                                                      2000, 2020, 2040, 2060, 2130, 2230, 2330, 2430));
}

TEST(Stories, a_window_lets_more_than_its_reservoir_go_around_an_edge) {
  // Two of the five are used when ten come from 850 on; three fit. The next window, 1 ms off its edge, takes five more,
  // the one after it the last two and then three of its own.
  EXPECT_THAT(departures_of("window.svg"),
              ElementsAre(100, 400, 850, 860, 870, 1001, 1001, 1001, 1001, 1001, 2001, 2001, 2500, 2560, 2620));
}

TEST(Stories, a_sliding_window_does_not) {
  // Each leaves 1002 after the fifth before it: the interval and its guard of 2.
  EXPECT_THAT(departures_of("sliding-window.svg"),
              ElementsAre(100, 400, 850, 860, 870, 1102, 1402, 1852, 1862, 1872, 2104, 2404, 2854, 2864, 2874));
}

TEST(Stories, a_token_bucket_lets_go_what_it_has_and_then_what_is_refilled) {
  // Five tokens, then two every 500 from the first departure on: at 600 and 1100 for those who wait; at 1600 and 2100
  // nobody does, so four are there at 2300, and the fifth request takes one of 2600.
  EXPECT_THAT(departures_of("token-bucket.svg"),
              ElementsAre(100, 120, 140, 160, 180, 600, 600, 1100, 1100, 2300, 2320, 2340, 2360, 2600));
}

TEST(Stories, a_semaphore_lets_one_go_when_one_lands) {
  // The first three land at 800, 490 and 780; whoever is first in the queue leaves at each landing.
  EXPECT_THAT(departures_of("semaphore.svg"), ElementsAre(100, 190, 280, 490, 780, 800, 890, 1030, 1240, 1400));
}

TEST(Stories, a_counter_opens_a_period_after_it_was_first_used) {
  // Fourteen, 120 apart: five from 300 on; at 1300 the four that wait and, at 1380, one that comes; the rest at 2300.
  EXPECT_THAT(departures_of("counter.svg"),
              ElementsAre(300, 420, 540, 660, 780, 1300, 1300, 1300, 1300, 1380, 2300, 2300, 2300, 2300));
}

}  // namespace
}  // namespace penstock::pictures
