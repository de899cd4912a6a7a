// SPDX-License-Identifier: Apache-2.0
// A hundred clients before an origin that refuses everything for a while, by one process and by three that share: none
// of them sees a refusal, and the origin is asked once a pause.
#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <string>
#include <tuple>

#include "system/limited.h"
#include "system/redis_stage.h"
#include "system/refusing.h"

namespace penstock::trial {
namespace {

constexpr int kClients = 100;
constexpr auto kPaused = 250ms;
constexpr auto kRefusesFor = 900ms;

/// Refuses for kRefusesFor from the first request on; then gives each body back.
class Recovering {
 public:
  explicit Recovering(Origin& origin) {
    origin.otherwise([this](Visit& visit) {
      if (!visit.read_body()) return;
      const Moment now = Clock::now(), first = begin(now);
      if (now >= first + kRefusesFor) return void(visit.answer(200, visit.request().target + visit.request().body));
      ++refusals_;
      visit.answer(429, "busy", "Retry-After-Ms: 250\r\n");
    });
  }

  Moment recovers() const { return Moment(Clock::duration(first_)) + kRefusesFor; }
  int refusals() const { return refusals_; }

 private:
  Moment begin(Moment now) {
    Clock::rep none = 0;
    first_.compare_exchange_strong(none, now.time_since_epoch().count());
    return Moment(Clock::duration(first_));
  }

  std::atomic<Clock::rep> first_ = 0;
  std::atomic<int> refusals_ = 0;
};

class HundredClients : public testing::TestWithParam<std::tuple<std::string, int>> {
 protected:
  std::string method() const { return std::get<0>(GetParam()); }
  int most_at_once() const { return std::get<1>(GetParam()); }

  std::string body(int i) const { return method() == "POST" ? "body of " + std::to_string(i) : ""; }
  void send(int i, std::uint16_t port, const Origin& origin) {
    const std::string url = origin.url("/" + std::to_string(i));
    clients_.emplace_back(port).send(method() == "POST" ? with_body("POST", url, body(i)) : get(url));
  }
  /// Each gets its own answer, soon after the origin has recovered.
  void expect_all_served(const Recovering& origin) {
    for (int i = 0; i < kClients; ++i) {
      const Reply reply = clients_[static_cast<std::size_t>(i)].reply();
      EXPECT_EQ(reply.status, 200) << reply.head;
      EXPECT_EQ(reply.body, "/" + std::to_string(i) + body(i));
    }
    // Ten round trips or fewer, each by three processes: 1 s, and 700 ms more where a sanitizer makes them slow.
    EXPECT_TRUE(within(kPaused + 700ms + kLate, origin.recovers()));
  }
  /// Those that had left at once, and then one a pause.
  static void expect_few_refusals(const Recovering& origin, int at_once) {
    constexpr int kPauses = kRefusesFor / kPaused;
    EXPECT_LE(origin.refusals(), at_once + kPauses);
    EXPECT_GE(origin.refusals(), kPauses) << "it is asked after each pause";
  }

  std::deque<Client> clients_;
};

INSTANTIATE_TEST_SUITE_P(Of, HundredClients, testing::Combine(testing::Values("GET", "POST"), testing::Values(20, 64)),
                         [](const auto& of) {
                           return std::get<0>(of.param) + "_" + std::to_string(std::get<1>(of.param));
                         });

TEST_P(HundredClients, of_one_process_see_no_refusal) {
  Limited stage("maxConcurrent: " + std::to_string(most_at_once()));
  const Recovering refusing(stage.origin);
  for (int i = 0; i < kClients; ++i) send(i, stage.daemon.port(), stage.origin);
  expect_all_served(refusing);
  expect_few_refusals(refusing, most_at_once());
  EXPECT_EQ(sendings(stage.daemon, kClients), static_cast<int>(stage.origin.count()));
}

/// How many may be in flight is said to each process: all that they send at once may be refused.
TEST_P(HundredClients, of_three_processes_see_no_refusal) {
  SharedStage stage({.limits = "tokenBucket: { capacity: 1000, refillAmount: 1000, refillFrequency: 100ms }",
                     .timeout = "8s",
                     .upstream = "maxConcurrent: " + std::to_string(most_at_once())});
  for (int i = 0; i < 3; ++i) stage.add();
  const Recovering refusing(stage.origin);
  for (int i = 0; i < kClients; ++i) send(i, stage.daemons[static_cast<std::size_t>(i % 3)].port(), stage.origin);
  expect_all_served(refusing);
  expect_few_refusals(refusing, std::min(kClients, 3 * most_at_once()));
  int sent = 0;
  for (int i = 0; i < 3; ++i) sent += sendings(stage.daemons[static_cast<std::size_t>(i)], i == 0 ? 34 : 33);
  EXPECT_EQ(sent, static_cast<int>(stage.origin.count()));
}

/// With a limit of all processes together the bound is that of one.
TEST_P(HundredClients, of_three_processes_that_share_permits_see_no_refusal) {
  SharedStage stage({.limits = "semaphore: { capacity: " + std::to_string(most_at_once()) + ", lease: 6s }",
                     .timeout = "8s",
                     .upstream = "maxConcurrent: 100"});
  for (int i = 0; i < 3; ++i) stage.add();
  const Recovering refusing(stage.origin);
  for (int i = 0; i < kClients; ++i) send(i, stage.daemons[static_cast<std::size_t>(i % 3)].port(), stage.origin);
  expect_all_served(refusing);
  expect_few_refusals(refusing, most_at_once());
}

}  // namespace
}  // namespace penstock::trial
