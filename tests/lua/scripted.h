// SPDX-License-Identifier: Apache-2.0
// A scenario's limits, kept by the scripts for one process that is the counters' leader too.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "lua/asker.h"
#include "support/scenario_run.h"

namespace penstock::lua {

class Scripted final : public scenarios::Asked {
 public:
  Scripted(Scripts& scripts, std::string upstream, const std::vector<LimitConfig>& limits)
      : asker_(scripts, std::move(upstream), "me", limits, scenarios::kStart) {}

  flow::Booking ask(Time now, const flow::Ask& ask) override {
    reset_until(now);
    Answer answer = asker_.ask(now, ask);
    EXPECT_EQ(answer.status, "ok");
    EXPECT_EQ(answer.granted_all, answer.booking.departures.size() == ask.count);
    if (!answer.booking.departures.empty()) asker_will_reset(now, ask.group);
    return answered(now, answer.booking);
  }
  void give_back(Time now, std::string_view group, const flow::Departure& departure) override {
    reset_until(now);
    EXPECT_EQ(asker_.undo(now, group, departure).text, "ok");
  }
  void pause(Time now, std::string_view group, Time until) override {
    EXPECT_FALSE(asker_.pause(now, group, until - now).is_error());
  }
  void change(Time now, const std::vector<LimitConfig>& limits) override {
    reset_until(now);
    asker_.change(limits);
    for (auto& [key, due] : resets_) due = now;  // a period may be shorter
  }
  Asker& asker() { return asker_; }

 private:
  // Who was granted some asks for the rest before the last of them leaves. And where a script says "half a horizon
  // before", the limits of this process say "a whole one": so as to book at the same moments.
  static flow::Booking answered(Time now, flow::Booking booking) {
    const bool early = booking.ask_again != 0 && booking.ask_again == booking.not_before - flow::kHorizon / 2;
    if (early) booking.ask_again = std::max(now + 1, booking.not_before - flow::kHorizon);
    if (booking.ask_again == 0 && !booking.departures.empty()) {
      booking.ask_again = booking.departures.back().at - 1'000;
    }
    return booking;
  }

  using Counter = std::pair<std::size_t, std::string>;  // which limit, of which group

  void asker_will_reset(Time now, std::string_view group) {
    for (std::size_t i = 0; i < asker_.limits().size(); ++i) {
      const LimitConfig& limit = asker_.limits()[i];
      if (!std::holds_alternative<CounterConfig>(limit.kind)) continue;
      const bool of_group = limit.per == LimitConfig::Per::group;
      reset(now, {i, of_group ? std::string(group) : std::string()});
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
