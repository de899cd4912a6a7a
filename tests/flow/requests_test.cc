// SPDX-License-Identifier: Apache-2.0
// A list of requests in order of arrival, into which one that has waited before is put back.
#include "flow/requests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace penstock::flow {
namespace {

class InOrder : public testing::Test {
 protected:
  std::uint32_t make(Time arrived, std::uint16_t rank = 0) {
    const std::uint32_t index = requests_.take();
    requests_[index].arrived = arrived;
    requests_[index].rank = rank;
    return index;
  }
  std::vector<std::uint32_t> order() {
    std::vector<std::uint32_t> all;
    std::uint32_t index = list_.front();
    for (std::size_t left = list_.size(); left > 0; --left, index = requests_[index].next) all.push_back(index);
    return all;
  }

  Requests requests_;
  RequestList list_;
};

TEST_F(InOrder, those_that_come_in_order_pass_nobody) {
  for (Time t = 0; t < 10'000; ++t) ASSERT_EQ(list_.insert_by_arrival(requests_, make(t / 10, t % 10)), 0u);
  EXPECT_TRUE(std::ranges::is_sorted(order()));
}

TEST_F(InOrder, one_that_comes_back_first_or_last_passes_nobody) {
  const auto first = make(0), last = make(20'000);
  for (Time t = 1; t < 10'000; ++t) list_.insert_by_arrival(requests_, make(t));
  EXPECT_EQ(list_.insert_by_arrival(requests_, first), 0u);
  EXPECT_EQ(list_.insert_by_arrival(requests_, last), 0u);
  EXPECT_EQ(list_.front(), first);
  EXPECT_EQ(list_.back(), last);
}

TEST_F(InOrder, one_in_between_passes_those_on_the_shorter_side) {
  std::vector<std::uint32_t> all;
  for (Time t = 0; t < 100; ++t) all.push_back(make(t));
  for (const std::uint32_t index : all) {
    if (index != all[10] && index != all[95]) list_.insert_by_arrival(requests_, index);
  }
  EXPECT_EQ(list_.insert_by_arrival(requests_, all[10]), 10u);
  EXPECT_EQ(list_.insert_by_arrival(requests_, all[95]), 4u);
  EXPECT_EQ(order(), all);
}

TEST_F(InOrder, one_goes_before_those_that_arrived_later_also_where_a_tunnel_has_joined_late) {
  const auto tunnel = make(0), first = make(1), second = make(2), third = make(3);
  for (const auto index : {second, third}) list_.insert_by_arrival(requests_, index);
  requests_[tunnel].let_in = true;
  list_.push_back(requests_, tunnel);
  list_.insert_by_arrival(requests_, first);
  EXPECT_EQ(order(), (std::vector{first, second, third, tunnel}));
}

TEST_F(InOrder, whatever_the_order_in_which_they_come_back_they_stand_as_they_arrived) {
  std::vector<std::uint32_t> all, mixed;
  for (int i = 0; i < 300; ++i) all.push_back(make(i / 100, static_cast<std::uint16_t>(i % 100)));
  mixed = all;
  std::shuffle(mixed.begin(), mixed.end(), std::mt19937(7));  // NOLINT(cert-msc51-cpp): the same each time
  for (const std::uint32_t index : mixed) list_.insert_by_arrival(requests_, index);
  EXPECT_EQ(order(), all);
  for (const std::uint32_t index : mixed) list_.remove(requests_, index);
  EXPECT_TRUE(list_.empty());
}

}  // namespace
}  // namespace penstock::flow
