// SPDX-License-Identifier: Apache-2.0
// What many gates of pauses cost, and what becomes of the departures that they decline and of the requests that wait.
#include <algorithm>

#include "flow/scheduler_fixture.h"

namespace penstock::flow {
namespace {

using testing::ElementsAreArray;

constexpr Time kLong = 5 * kSecond;  // a pause

// ---- what gates leave behind ----------------------------------------------------------------------------------------

TEST(DeclinedDepartures, are_offered_to_lanes_that_wait_for_a_permit) {
  SlowLimiter slow;
  SchedulerFixture yard({.max_concurrent = 8}, slow);
  yard.arrive(1, "a");
  yard.answer({yard.now}, {}, "a");
  yard.arrive(2, "a");
  yard.arrive(3, "b");
  yard.answer({.stop = Booking::Stop::permit, .scope = Booking::Scope::upstream, .limited_by = 0}, "b");
  ASSERT_EQ(slow.asks.size(), 3u);
  yard.pause(1, kLong, "a");
  EXPECT_THAT(yard.answer({yard.now}, {}, "a"), IsEmpty());
  EXPECT_THAT(slow.given_back, ElementsAre(yard.now));
  ASSERT_EQ(slow.asks.size(), 4u) << "nothing else would wake the lane";
  EXPECT_EQ(slow.asks.back().group, "b");
  EXPECT_THAT(yard.answer({yard.now}, {}, "b"), ElementsAre(3));
}

TEST(ManyGates, are_forgotten_once_opened_and_passed) {
  SchedulerFixture yard({.max_concurrent = 8});
  for (RequestId id = 1; id < 1'000; id += 2) {
    const std::string group = std::to_string(id);
    yard.arrive(id, group);
    const Time until = yard.pause(id, kSecond, group);
    yard.land(id);
    yard.arrive(id + 1, group);
    yard.advance_to(until);
    ASSERT_THAT(yard.may_probe(true, yard.now + kProbeRight, group), ElementsAre(id + 1));
    yard.answered(id + 1);
    yard.land(id + 1);
    ASSERT_LE(yard.upstream.gates().count(), 64u);
  }
}

TEST(ManyGates, that_other_processes_tell_of_are_forgotten_too) {
  SchedulerFixture yard({.max_concurrent = 8});
  for (int i = 0; i < 1'000; ++i, yard.now += kSecond) {
    yard.hear({PauseNews::What::begun, std::to_string(i), yard.now + kMs});
    ASSERT_LE(yard.upstream.gates().count(), 64u);
  }
}

TEST(ManyGates, make_room_when_they_are_not_needed_any_more_but_are_not_looked_through_each_time) {
  SchedulerFixture yard({.max_concurrent = 8});
  Gates& gates = yard.upstream.gates();
  for (int i = 0; i < 100; ++i) {
    yard.hear({PauseNews::What::begun, std::to_string(i), yard.now + kSecond + (i == 7 ? kMs : 0)});
  }
  EXPECT_FALSE(gates.has_room(yard.now + kSecond - 1, 100)) << "they last";
  EXPECT_FALSE(gates.has_room(yard.now + kSecond, 100)) << "it was looked just now";
  EXPECT_TRUE(gates.has_room(yard.now + 2 * kSecond - 1, 100));
  EXPECT_EQ(gates.count(), 0u);
}

TEST(ManyGates, of_which_one_still_holds_something_back_are_not_all_forgotten) {
  SchedulerFixture yard({.max_concurrent = 8});
  yard.arrive(1, "a");
  const Time until = yard.pause(1, kSecond, "a");
  yard.land(1);
  for (const RequestId id : {2, 3, 4, 5, 6, 7}) yard.arrive(id, "a");
  yard.advance_to(until);
  yard.may_probe(true, yard.now + kProbeRight, "a");
  ASSERT_THAT(yard.answered(2), ElementsAre(3, 4));
  yard.now += 2 * kProbeRight;
  EXPECT_FALSE(yard.upstream.gates().has_room(yard.now, 1)) << "two fly, and more would";
}

// ---- a pause of some of those that wait -----------------------------------------------------------------------------

class Sorted : public testing::Test {
 protected:
  /// `count` requests wait, all of which arrived at the same time.
  void begin(RequestId count) {
    yard_.arrive(0);
    until_ = yard_.pause(0, kLong);
    for (RequestId id = 1; id <= count; ++id) yard_.arrive(id);
  }
  std::vector<RequestId> waiting() const { return yard_.upstream.waiting_at_no_gate(); }

  SchedulerFixture yard_{{.max_concurrent = 100'000, .max_pending = 100'000, .max_wait = 1'000 * kSecond}};
  Time until_ = 0;
};

TEST_F(Sorted, ten_thousand_that_wait_keep_their_order) {
  begin(10'000);
  yard_.hear({PauseNews::What::begun, "scope", yard_.now + 2 * kLong});
  const auto before = waiting();
  ASSERT_EQ(before.size(), 10'000u);
  for (const RequestId id : before) yard_.move(id, "scope");
  EXPECT_THAT(waiting(), IsEmpty()) << "they wait at a gate now";
  yard_.advance_to(yard_.now + 2 * kLong);
  yard_.may_probe(true, yard_.now + kProbeRight);
  Ids all = yard_.may_probe(true, yard_.now + kProbeRight, "scope");
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (const RequestId id : yard_.answered(all[i])) all.push_back(id);
  }
  EXPECT_THAT(all, ElementsAreArray(before));
  EXPECT_TRUE(std::ranges::is_sorted(all));
}

TEST_F(Sorted, one_that_is_sent_back_goes_before_those_that_arrived_at_the_same_time) {
  SchedulerFixture yard({.max_concurrent = 2});
  yard.arrive_all({1, 2, 3, 4});
  const Time deadline = yard.now + 10 * kSecond;
  yard.pause(1, kLong);
  yard.send_back(1, deadline);
  yard.send_back(2, deadline);
  EXPECT_THAT(yard.upstream.waiting_at_no_gate(), ElementsAre(1, 2, 3, 4));
}

TEST_F(Sorted, those_in_flight_and_those_in_the_lane_of_another_pause_are_left_alone) {
  begin(3);
  yard_.hear({PauseNews::What::begun, "scope", yard_.now + kLong});
  yard_.arrive(4, "scope");
  yard_.arrive(5, "free");
  EXPECT_THAT(waiting(), ElementsAre(1, 2, 3, 5));
}

}  // namespace
}  // namespace penstock::flow
