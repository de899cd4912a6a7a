// SPDX-License-Identifier: Apache-2.0
// An upstream with a clock that the test winds, requests that are called by numbers, and a booker that answers by hand.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <initializer_list>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "flow/limits.h"
#include "flow/local_booker.h"
#include "flow/upstream.h"

namespace penstock::flow {

inline constexpr Time kMs = 1'000;
inline constexpr Time kSecond = 1'000'000;

using Ids = std::vector<RequestId>;

/// Answers nothing by itself; keeps what it was asked and what came back.
class SlowBooker final : public Booker {
 public:
  struct Ask {
    std::string group;
    std::size_t count;
    bool operator==(const Ask&) const = default;
  };
  bool ask(Time, std::string_view group, std::size_t count, Booking&) override {
    asks.push_back({std::string(group), count});
    return false;
  }
  void give_back(std::string_view, Time departure) override { given_back.push_back(departure); }

  std::vector<Ask> asks;
  std::vector<Time> given_back;
};

/// Each call returns the requests that it started; refusals collect in `refused`.
class Yard {
 public:
  explicit Yard(Settings settings, std::vector<std::unique_ptr<Limit>> limits = {})
      : local_(std::move(limits)), upstream(settings, local_) {}
  Yard(Settings settings, Booker& booker) : upstream(settings, booker) {}

  Ids arrive(RequestId id, std::string_view group = {}, std::optional<Time> max_wait = {}) {
    tickets_[id] = upstream.arrive(now, id, commands_, max_wait, group);
    return started();
  }
  /// Several at once.
  Ids arrive_all(std::initializer_list<RequestId> ids, std::string_view group = {}) {
    Ids all;
    for (const RequestId id : ids) {
      for (const RequestId other : arrive(id, group)) all.push_back(other);
    }
    return all;
  }
  Ids leave(RequestId id) { return upstream.leave(now, tickets_.at(id), commands_), started(); }
  Ids land(RequestId id) { return upstream.land(now, tickets_.at(id), commands_), started(); }
  Ids again(RequestId id) { return upstream.again(now, tickets_.at(id), commands_), started(); }
  Ids answer(std::vector<Time> departures, std::optional<Time> ask_again = {}, std::string_view group = {}) {
    upstream.answer(now, group, {std::move(departures), ask_again, {}}, commands_);
    return started();
  }
  Ids advance_to(Time at) {
    now = at;
    upstream.advance(now, commands_);
    return started();
  }
  Ticket ticket(RequestId id) const { return tickets_.at(id); }

 private:
  Ids started() {
    Ids ids;
    for (const auto& start : commands_.start) ids.push_back(start.id), waited[start.id] = start.waited;
    for (const auto& refusal : commands_.refuse) refused.push_back(refusal.id), refusals[refusal.id] = refusal;
    commands_.clear();
    return ids;
  }

  LocalBooker local_;
  Commands commands_;
  std::map<RequestId, Ticket> tickets_;

 public:
  Time now = 1'000 * kSecond;
  Upstream upstream;
  Ids refused;
  std::map<RequestId, Commands::Refuse> refusals;
  std::map<RequestId, Time> waited;
};

using testing::ElementsAre;
using testing::IsEmpty;

}  // namespace penstock::flow
