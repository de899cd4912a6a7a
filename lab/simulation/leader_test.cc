// SPDX-License-Identifier: Apache-2.0
// Which process resets a shared counter, as people are told.
#include <gmock/gmock.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "simulation/one_office.h"

namespace penstock::simulation {
namespace {

using namespace std::chrono_literals;
using testing::Contains;
using testing::ContainsRegex;
using testing::Each;
using testing::HasSubstr;
using testing::Not;

/// Two processes that use one counter.
class Leader : public OneOffice {
 protected:
  explicit Leader(LimitConfig::Per per = LimitConfig::Per::upstream, const std::string& route = {})
      : limits_{{.kind = CounterConfig{.max = 5, .period = 1s}, .name = "budget", .per = per, .route = route}} {
    machine_.happen([&] { first_ = hub_->make_limiter("api", limits_, *this); });
    other_machine_.happen([&] { second_ = other_hub_->make_limiter("api", limits_, *this); });
    run_for(kSecond);
  }
  /// Each process that is there asks five times a second.
  void ask_for(Time time) {
    for (const Time until = world_.now() + time; world_.now() < until; run_for(kSecond / 5)) {
      ask(machine_, first_.get());
      ask(other_machine_, second_.get());
    }
  }
  static void ask(Machine& machine, flow::Limiter* limiter, std::string_view group = {}, std::size_t count = 1,
                  std::string_view route = {}) {
    if (!limiter) return;
    machine.happen([&] {
      flow::Booking booking;
      limiter->ask(machine.now(), {.group = group, .route = route, .count = count, .weight = 1}, booking);
    });
  }
  std::int64_t led() const { return hub_ ? hub_->leadership().led : 0; }
  std::int64_t led_by_other() const { return other_hub_->leadership().led; }

  const std::vector<LimitConfig> limits_;
  Machine other_machine_{world_, kToday, 0, 0};
  Network other_network_{world_, other_machine_, hosts_, {.round_trip = 200}, [](bool) {}};
  std::vector<std::string> other_notices_;
  std::unique_ptr<redis::LimiterHub> other_hub_ = std::make_unique<redis::LimiterHub>(
      other_machine_.loop(), resolver_, config_, redis::HubWatch{.on_up = [](bool) {}},
      [this](const Notice& notice) { other_notices_.push_back(notice.text); }, other_network_);
  std::unique_ptr<flow::Limiter> first_, second_;
};

TEST_F(Leader, is_one_process_which_says_so_and_counts_its_resets) {
  ask_for(10 * kSecond);
  EXPECT_EQ(led() + led_by_other(), 1);
  const auto resets = hub_->leadership().resets + other_hub_->leadership().resets;
  EXPECT_GE(resets, 8u);
  EXPECT_LE(resets, 10u);
  const bool is_first = led() == 1;
  EXPECT_EQ((is_first ? other_hub_ : hub_)->leadership().resets, 0u);
  EXPECT_THAT(is_first ? notices_ : other_notices_,
              Contains(HasSubstr("the counter budget of api is reset by this process, ")));
  EXPECT_THAT(is_first ? notices_ : other_notices_, Contains("the counter budget of api was reset"));
  EXPECT_THAT(is_first ? other_notices_ : notices_, Not(Contains(HasSubstr("the counter budget"))));
}

TEST_F(Leader, that_ends_is_followed_by_the_other) {
  ask_for(5 * kSecond);
  auto& leader = led() == 1 ? first_ : second_;
  auto& next = led() == 1 ? *other_hub_ : *hub_;
  auto& machine = led() == 1 ? machine_ : other_machine_;
  machine.happen([&] { leader.reset(); });
  EXPECT_EQ(led() + led_by_other(), 0);
  ask_for(5 * kSecond);
  EXPECT_EQ(next.leadership().led, 1);
  EXPECT_GE(next.leadership().resets, 2u);
}

TEST_F(Leader, of_a_counter_that_is_not_used_is_none) {
  ask_for(5 * kSecond);
  run_for(20 * kSecond);
  EXPECT_EQ(led() + led_by_other(), 0);
  const auto& told = notices_.empty() ? other_notices_ : notices_;
  EXPECT_THAT(told, Contains("the counter budget of api is not in use any more, and not reset"));
}

TEST_F(Leader, of_a_counter_that_a_new_configuration_lacks_is_none) {
  ask_for(5 * kSecond);
  ASSERT_EQ(led() + led_by_other(), 1);
  const std::vector<LimitConfig> renamed{{.kind = CounterConfig{.max = 5, .period = 1s}, .name = "other"}};
  machine_.happen([&] { first_->change(machine_.now(), renamed); });
  other_machine_.happen([&] { second_->change(other_machine_.now(), renamed); });
  EXPECT_EQ(led() + led_by_other(), 0);
}

/// The counter is each group's; the groups' names are credentials.
class LeaderOfGroups : public Leader {
 protected:
  LeaderOfGroups() : Leader(LimitConfig::Per::group) {}
  /// More than the counters of these groups allow, so that each group waits for a reset.
  void exhaust() {
    ask_for_each(8);
    run_for(1'200 * kMillisecond);
  }
  void ask_for_each(std::size_t count) {
    for (const std::string_view group : {"Bearer one", "Bearer two"}) ask(machine_, first_.get(), group, count);
  }
};

TEST_F(LeaderOfGroups, leads_each_by_itself) {
  exhaust();
  EXPECT_EQ(led(), 2);
  EXPECT_EQ(hub_->leadership().resets, 2u);
  EXPECT_THAT(notices_, Contains(ContainsRegex("^the counter budget of api for the group [0-9a-f]{12} was reset$")));
  EXPECT_THAT(notices_, Each(Not(HasSubstr("Bearer"))));
  const std::set<std::string> different(notices_.begin(), notices_.end());
  EXPECT_EQ(different.size(), notices_.size()) << "each says which group it is about";
}

/// What has waited leaves after the reset; nobody asks for another one after the next.
TEST_F(LeaderOfGroups, leads_them_no_longer_than_they_are_used) {
  exhaust();
  ask_for_each(3);
  run_for(kSecond);
  EXPECT_EQ(led(), 2);
  EXPECT_EQ(hub_->leadership().resets, 4u);
  run_for(20 * kSecond);
  EXPECT_EQ(led(), 0);
  EXPECT_THAT(notices_, Contains(ContainsRegex("group [0-9a-f]{12} is not reset by this process any more$")));
}

TEST_F(LeaderOfGroups, leads_none_that_a_new_configuration_lacks) {
  exhaust();
  ASSERT_EQ(led(), 2);
  machine_.happen([&] { first_->change(machine_.now(), {{.kind = PacerConfig{.qps = 10}}}); });
  EXPECT_EQ(led(), 0);
}

class LeaderOfARoute : public Leader {
 protected:
  LeaderOfARoute() : Leader(LimitConfig::Per::upstream, "search") {}
};

TEST_F(LeaderOfARoute, leads_one_counter_whatever_the_group) {
  for (const std::string_view group : {"one", "two"}) ask(machine_, first_.get(), group, 8, "search");
  run_for(1'200 * kMillisecond);
  EXPECT_EQ(led(), 1);
  EXPECT_THAT(notices_, Contains("the counter budget of api for the route search was reset"));
}

}  // namespace
}  // namespace penstock::simulation
