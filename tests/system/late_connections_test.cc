// SPDX-License-Identifier: Apache-2.0
// A limit that looks back, while some of those that have departed wait for their connections: on the wire it is kept
// to the request, by the time at which the origin's kernel has them, however slow connections are and a machine is.
#include <algorithm>
#include <deque>

#include "system/bookings.h"
#include "system/kernel_times.h"
#include "system/limited.h"

namespace penstock::trial {
namespace {

constexpr std::size_t kInAnInterval = 20, kHanging = 8;
constexpr auto kLookBack = 500ms;
const std::string kLookingBack = "slidingWindow: { max: 20, interval: 500ms }";

/// Two hosts of one upstream. To one of them no connection comes about, until it accepts.
struct TwoHosts {
  TwoHosts() { KernelTimes::ask_kernel(silent.listener); }

  std::string ready_url() const { return "http://127.0.0.1:" + std::to_string(port) + "/"; }

  /// Requests that depart, and cannot leave.
  void send_to_silent(const Daemon& daemon) {
    for (std::size_t i = 0; i < kHanging; ++i) {
      clients.emplace_back(daemon.port()).send(get("http://" + silent.host() + "/"));
    }
    EXPECT_EQ(daemon.await_events(kHanging, "dispatch").size(), kHanging);
  }

  /// Lets them go when others have had their places for a while, if they could have them, and goes on for as long.
  void expect_kept(const std::vector<std::uint16_t>& daemons) {
    Load load(daemons, ready_url(), 30);
    ASSERT_TRUE(ready.await(2 * kInAnInterval));
    const KernelTimes accepting(silent.listener);
    ASSERT_TRUE(accepting.await(kHanging));
    ASSERT_TRUE(ready.await(ready.times().size() + 4 * kInAnInterval)) << "each place is free again, in its time";
    expect_only_successes(load.stop());
    for (auto& client : clients) EXPECT_EQ(client.reply().status, 200);
    auto all = ready.times();
    const auto late = accepting.times();
    all.insert(all.end(), late.begin(), late.end());
    std::ranges::sort(all);
    EXPECT_LE(fullest_in_time(all, kLookBack), kInAnInterval);
  }

  Silent silent;
  std::uint16_t port = 0;
  const Socket listener = Socket::listen(1024, &port);
  const KernelTimes ready{listener};
  std::deque<Client> clients;
};

TEST(LateConnections, keep_their_places_in_a_sliding_window) {
  TwoHosts hosts;
  const Daemon daemon({.yaml = api("timeouts: { connect: 15s }, limits: [ " + kLookingBack + " ]")});
  hosts.send_to_silent(daemon);
  hosts.expect_kept({daemon.port()});
}

TEST(LateConnections, keep_their_places_in_a_sliding_window_that_is_shared) {
  TwoHosts hosts;
  Shared shared = patiently(kLookingBack);
  shared.upstream = "timeouts: { connect: 15s }";
  SharedStage stage(shared);
  for (int i = 0; i < 3; ++i) stage.add();
  hosts.send_to_silent(stage.daemons[0]);
  hosts.expect_kept(stage.ports());
}

}  // namespace
}  // namespace penstock::trial
