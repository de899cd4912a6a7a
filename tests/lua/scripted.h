// SPDX-License-Identifier: Apache-2.0
// A scenario's limits, kept by the scripts for one process that is the counters' leader too.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "flow/limit_remap.h"
#include "lua/asker.h"
#include "support/scenario_run.h"

namespace penstock::lua {

class Scripted final : public scenarios::Asked {
 public:
  Scripted(Scripts& scripts, std::string upstream, const std::vector<LimitConfig>& limits)
      : asker_(scripts, std::move(upstream), "me", limits, scenarios::kStart) {}

  flow::Booking ask(Time now, const flow::Ask& ask) override {
    reset_until(now);
    const Answer answer = asker_.ask(now, ask);
    EXPECT_EQ(answer.status, "ok");
    EXPECT_EQ(answer.granted_all, answer.booking.departures.size() == ask.count);
    if (!answer.booking.departures.empty()) asker_will_reset(now, ask.group);
    return answered(now, answer.booking, ask.group);
  }
  void give_back(Time now, std::string_view group, const flow::Departure& departure) override {
    reset_until(now);
    EXPECT_EQ(asker_.undo(now, group, departure).text, "ok");
  }
  void left(Time now, std::string_view group, const flow::Departure& departure) override {
    reset_until(now);
    EXPECT_EQ(asker_.report_late(now, group, {departure}, now).text, "ok");
  }
  void refused(Time now, std::string_view group, const flow::Departure& departure) override {
    reset_until(now);
    EXPECT_EQ(asker_.refused(now, group, departure).text, "ok");
  }
  void learned(Time now, std::string_view group, const flow::Departure& departure,
               const flow::Report& report) override {
    reset_until(now);
    EXPECT_EQ(asker_.learned(now, group, departure, report).text, "ok");
  }
  void settle(Time now, std::string_view group, const flow::Departure& departure, int cost) override {
    reset_until(now);
    EXPECT_EQ(asker_.settle(now, group, departure, cost).text, "ok");
    asker_will_reset(now, group);  // a debt may be all that a counter has counted
  }
  void pause(Time now, std::string_view group, Time until) override {
    EXPECT_FALSE(asker_.pause(now, group, until - now).is_error());
  }
  void change(Time now, const std::vector<LimitConfig>& limits) override {
    reset_until(now);
    const auto report_late = flow::limit_remap(asker_.limits(), limits);
    asker_.change(limits);
    std::map<Counter, Time> resets;  // a period may be shorter
    for (const auto& [key, due] : resets_) {
      const auto number = flow::renumbered(static_cast<flow::LimitIndex>(key.first), report_late);
      if (number >= 0) resets[{static_cast<std::size_t>(number), key.second}] = now;
    }
    resets_ = std::move(resets);
  }
  Asker& asker() { return asker_; }

 private:
  using Counter = std::pair<std::size_t, std::string>;  // which limit, of which group

  /// What a process with a share of its own would do at other moments is done when the limits of one process do it: a
  /// horizon, or the slack of a group, before the moment that was told, or when a reset is due.
  flow::Booking answered(Time now, flow::Booking booking, std::string_view group) const {
    if (booking.stop != flow::Booking::Stop::turn || booking.not_before == 0) return booking;
    const auto& limits = asker_.limits();
    const bool wide =
        std::ranges::any_of(limits, [](const auto& limit) { return limit.per == LimitConfig::Per::upstream; });
    const bool slack = booking.scope == flow::Booking::Scope::group && wide;
    booking.ask_again = booking.not_before - (slack ? 5'000 : flow::kHorizon);
    if (booking.limited_by >= 0) {
      const auto due = resets_.find(counter(static_cast<std::size_t>(booking.limited_by), group));
      if (due != resets_.end()) booking.ask_again = std::max(booking.ask_again, due->second);
    }
    booking.ask_again = std::max(booking.ask_again, now + 1);
    return booking;
  }

  Counter counter(std::size_t limit, std::string_view group) const {
    const bool of_group = asker_.limits()[limit].per == LimitConfig::Per::group;
    return {limit, of_group ? std::string(group) : std::string()};
  }
  void asker_will_reset(Time now, std::string_view group) {
    for (std::size_t i = 0; i < asker_.limits().size(); ++i) {
      if (std::holds_alternative<CounterConfig>(asker_.limits()[i].kind)) reset(now, counter(i, group));
    }
  }
  void reset(Time now, const Counter& counter) {
    const auto reply = asker_.reset(now, counter.first, counter.second);
    ASSERT_EQ(reply.items.size(), 4U) << reply.text;
    if (reply.items[2].integer == 0) {
      resets_.erase(counter);
    } else {
      resets_[counter] = asker_.here(reply.items[2].integer);
    }
  }
  void reset_until(Time now) {
    for (int i = 0; i < 100'000 && !resets_.empty(); ++i) {
      const auto next = *std::ranges::min_element(resets_, {}, [](const auto& of) { return of.second; });
      if (next.second > now) return;
      reset(next.second, next.first);
    }
  }

  Asker asker_;
  std::map<Counter, Time> resets_;  // when each is to be asked for
};

}  // namespace penstock::lua
