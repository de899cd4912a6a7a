// SPDX-License-Identifier: Apache-2.0
// Another configuration while requests wait and fly: the dispatcher takes it on between two events, and every exchange
// stays where it was.
#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "proxy/dispatcher_fixture.h"
#include "proxy/recording_limiter.h"
#include "support/dial_guards.h"

namespace penstock::proxy {
namespace {

/// Answers when it is told to.
class ChangingTest : public DispatcherTest {
 protected:
  ChangingTest()
      : origin_([](test::Origin& origin, test::Socket& peer, int) {
          for (std::string head = peer.read_until("\r\n\r\n"); !head.empty(); head = peer.read_until("\r\n\r\n")) {
            origin.note(head.substr(0, head.find(" HTTP")));
            if (head.starts_with("GET /silent")) return void(peer.read_to_end());
            peer.send(kOk);
          }
        }) {
    name("api");
  }
  UpstreamSettings& name(const std::string& upstream) {
    config_.upstreams.push_back({.name = upstream, .match = {{.host = "127.0.0.1"}}});
    return config_.upstreams.back().settings;
  }
  UpstreamSettings& settings() { return config_.upstreams[0].settings; }
  void get(Asker& asker, const std::string& path = "/") { DispatcherTest::get(asker, origin_.host(), path); }
  void change() {
    pools_->change(config_);
    dispatcher_->change();
  }

  test::Origin origin_;
};

TEST_F(ChangingTest, another_kind_of_limiter_takes_the_place_of_one_that_is_in_use) {
  Record before, after;
  make_limiter_ = recording_limiters(run_.loop, before);
  settings().max_concurrent = 2;
  settings().limits = {{.kind = CounterConfig{.max = 2, .period = 24h}}};
  settings().queue.max_wait = 24h;
  fits_limiter_ = [](const auto&, const auto&) { return false; };
  Asker flying, another, waiting, late;
  get(flying, "/silent");
  get(another, "/silent");
  get(waiting);
  make_limiter_ = recording_limiters(run_.loop, after);
  settings().limits = {{.kind = SemaphoreConfig{.capacity = 3}}, {.kind = PacerConfig{.qps = 1000, .max_burst = 5}}};
  settings().max_concurrent = 8;
  change();
  get(late);
  ASSERT_TRUE(finish(waiting));
  ASSERT_TRUE(finish(late));
  EXPECT_EQ(before.departures.size(), 2u);
  EXPECT_EQ(after.departures.size(), 2u);
  leave(flying);
  leave(another);
  expect_at_rest();
}

TEST_F(ChangingTest, names_of_limits_stay_true_of_those_in_flight) {
  settings().limits = {{.kind = CounterConfig{.max = 100, .period = 1h}}, {.kind = PacerConfig{.qps = 50}}};
  Asker first, second;
  get(first);
  get(second, "/silent");
  ASSERT_TRUE(finish(first));
  ASSERT_TRUE(run_.run_until([&] { return upstream("api").in_flight == 1; }));
  settings().limits = {{.kind = PacerConfig{.qps = 60}}, {.kind = TokenBucketConfig{5, 5, 1s}}};
  change();
  config_.upstreams.clear();
  change();
  leave(second);
  EXPECT_EQ(told_.back().limited_by, "pacer") << "it was the second, and is the first, also when its upstream is gone";
}

TEST_F(ChangingTest, an_upstream_that_is_gone_is_forgotten_when_nobody_is_left) {
  settings().max_concurrent = 1;
  Asker flying, waiting, arrival;
  get(flying, "/silent");
  get(waiting);
  config_.upstreams.clear();
  change();
  get(arrival);
  ASSERT_TRUE(finish(arrival));
  EXPECT_EQ(told_.back().entry, 0u);
  EXPECT_EQ(upstream("api").pending, 1u);
  change();
  leave(flying);
  ASSERT_TRUE(finish(waiting));
  EXPECT_EQ(waiting.status, 200);
  EXPECT_EQ(told_.back().entry, 1u) << "it keeps its number";
  change();
  for (const auto& one : snapshot().upstreams) EXPECT_NE(one.name, "api");
}

TEST_F(ChangingTest, an_entry_keeps_its_number_wherever_it_stands) {
  name("second").max_concurrent = 2;
  dispatcher();
  std::swap(config_.upstreams[0], config_.upstreams[1]);
  config_.upstreams.insert(config_.upstreams.begin(), {.name = "third", .match = {{.host = "third.test"}}});
  change();
  EXPECT_EQ(upstream("api").entry, 1u);
  EXPECT_EQ(upstream("second").entry, 2u);
  EXPECT_EQ(upstream("third").entry, 3u);
  std::erase_if(config_.upstreams, [](auto& one) { return one.name == "api"; });
  change();
  config_.upstreams.push_back({.name = "fourth", .match = {{.host = "fourth.test"}}});
  change();
  EXPECT_EQ(upstream("fourth").entry, 1u) << "which nobody has any more";
}

TEST_F(ChangingTest, all_that_no_entry_names_get_the_new_settings) {
  config_.upstreams.clear();
  config_.unmatched.max_concurrent = 1;
  Asker flying, waiting;
  get(flying, "/silent");
  get(waiting);
  config_.unmatched.max_concurrent = 2;
  change();
  EXPECT_TRUE(finish(waiting));
  leave(flying);
}

TEST(ChangedPools, stay_as_long_as_their_identity_is_the_same) {
  test::TestLoop run;
  const std::string file = std::filesystem::temp_directory_path() / ("penstock-pool-" + std::to_string(getpid()));
  std::ofstream(file) << "an authority";
  Config config;
  auto& tls = config.unmatched.tls;
  tls.ca = file;
  UpstreamPools connections(run.loop, config, test::kAllAllowed);
  const std::weak_ptr<transfer::Pool> first = connections.of(tls);
  PinnedPools own;  // of one client: they change with the others
  own.claim("a");
  const auto* its_first = own.to("a", tls, connections.of(tls), connections);
  connections.change(config);
  EXPECT_EQ(connections.of(tls), first.lock());
  EXPECT_EQ(own.to("a", tls, connections.of(tls), connections), its_first);
  std::filesystem::last_write_time(file, std::filesystem::last_write_time(file) + 1s);
  {
    const auto in_use = first.lock();
    connections.change(config);
    EXPECT_NE(connections.of(tls), in_use) << "the file has been written since";
    EXPECT_NE(own.to("a", tls, connections.of(tls), connections), its_first);
  }
  EXPECT_FALSE(first.expired());
  connections.sweep();
  EXPECT_TRUE(first.expired()) << "nobody has it any more";
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace penstock::proxy
