// SPDX-License-Identifier: Apache-2.0
// Thousands of handshakes at once: each comes to its end, and those who speak already notice little of it.
#include <gmock/gmock.h>

#include "system/loop_watch.h"
#include "system/stage.h"
#include "system/tls_crowd.h"

namespace penstock::trial {
namespace {

constexpr std::size_t kCrowd = 2000, kHosts = 200, kMoreFiles = 200;
constexpr std::chrono::seconds kLong{60};  // on a busy machine, or with a sanitizer

Scene patient_scene() { return {.yaml = "defaults: { timeouts: { header: 60s } }\n"}; }

/// All of a crowd shake hands, with one of so many hosts each, while somebody else asks, and no turn of the loop
/// stalls.
void expect_crowd_in(const Intercepted& stage, std::size_t count, std::size_t hosts) {
  const auto other = stage.open();
  TlsCrowd crowd(stage, count, [&](std::size_t i) { return std::to_string(i % hosts) + ".good.test"; });
  const LoopWatch loop(stage.daemon);
  EXPECT_TRUE(crowd.shake(kLong)) << crowd.done() << " done, " << crowd.failed() << " failed";
  EXPECT_EQ(crowd.done(), count);
  loop.expect_quick_iterations();
  // A client has shaken hands once it has sent its last message, and the proxy once it has read that. One that leaves
  // before has left in the midst of it.
  const auto done = [&] { return stage.daemon.status("api").at("handshakes").at("done"); };
  EXPECT_TRUE(eventually([&] { return done() == count + 1; })) << done();
  stage.expect_served(*other);
}

TEST(HandshakeCrowd, of_two_thousand_shakes_hands_and_stalls_no_turn_of_the_loop) {
  ASSERT_GE(allow_open_files(), 2 * kCrowd + kMoreFiles);
  Intercepted stage(patient_scene());
  expect_crowd_in(stage, kCrowd, 1);
  EXPECT_TRUE(eventually([&] { return stage.daemon.metric("penstock_connections") == 0; }));
}

TEST(HandshakeCrowd, of_two_hundred_hosts_has_a_certificate_for_each) {
  ASSERT_GE(allow_open_files(), 2 * kCrowd + kMoreFiles);
  Intercepted stage(patient_scene());
  expect_crowd_in(stage, 3 * kHosts, kHosts);
}

TEST(HandshakeCrowd, that_leaves_in_the_midst_of_it_leaves_nothing_behind) {
  ASSERT_GE(allow_open_files(), 2 * kCrowd + kMoreFiles);
  Intercepted stage(patient_scene());
  EXPECT_EQ(stage.fetch("/").status, 200);
  ASSERT_TRUE(eventually([&] { return stage.daemon.metric("penstock_connections") == 0; }));
  const std::size_t before = stage.daemon.descriptors();
  for (int i = 0; i < 5; ++i) {
    TlsCrowd crowd(stage, 100, [&](std::size_t k) { return std::to_string(k % 7) + ".good.test"; });
    crowd.shake(std::chrono::milliseconds(i * 5));
  }
  EXPECT_TRUE(eventually([&] { return stage.daemon.metric("penstock_connections") == 0; }));
  EXPECT_TRUE(eventually([&] { return stage.daemon.descriptors() <= before; }));
  const auto other = stage.connect(stage.trusting(), "good.test", "", "127.0.0.2");  // the others went without a word
  EXPECT_TRUE(other->shake());
  stage.expect_served(*other);
}

}  // namespace
}  // namespace penstock::trial
