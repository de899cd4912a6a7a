// SPDX-License-Identifier: Apache-2.0
// Names to addresses, asked of a name server of the tests' own.
#include "loop/resolver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <optional>
#include <utility>

#include "loop/local_addresses.h"
#include "support/machine.h"
#include "support/name_server.h"
#include "support/sockets.h"
#include "support/test_loop.h"

namespace penstock::loop {
namespace {

using test::NameServer;
using testing::Contains;
using testing::UnorderedElementsAre;
using Reply = NameServer::Reply;

/// One A and one AAAA for every name.
std::optional<Reply> both(const std::string&, std::uint16_t type) {
  return Reply{.addresses = {type == NameServer::kA ? "192.0.2.7" : "2001:db8::7"}};
}

std::optional<Reply> silence(const std::string&, std::uint16_t) { return std::nullopt; }

class ResolverTest : public testing::Test {
 protected:
  void start(NameServer::Answer answer, Duration timeout = 5s) {
    server_.emplace(std::move(answer));
    resolver_.emplace(run_.loop, DnsConfig{.servers = {server_->address()}, .timeout = timeout});
  }

  std::optional<LookupResult> look_up(std::string_view host) {
    std::optional<LookupResult> answer;
    const auto question = resolver_->ask(host, [&](const LookupResult& lookup) { answer = lookup; });
    EXPECT_FALSE(answer) << "answered from inside the call";
    EXPECT_TRUE(run_.run_until([&] { return answer.has_value(); })) << host;
    return answer;
  }

  test::TestLoop run_;
  std::atomic<bool> failing_ = true;  // of what the server's thread looks at until it ends
  std::atomic<int> asked_ = 0;
  std::optional<NameServer> server_;
  std::optional<Resolver> resolver_;
};

TEST_F(ResolverTest, answers_with_addresses_of_both_families) {
  start(both);
  const auto answer = look_up("api.test.");
  ASSERT_TRUE(answer && answer->has_value());
  EXPECT_THAT(**answer, UnorderedElementsAre("192.0.2.7", "2001:db8::7"));
}

TEST_F(ResolverTest, answers_with_several_addresses_each_once) {
  start([](const std::string&, std::uint16_t type) -> std::optional<Reply> {
    if (type == NameServer::kAaaa) return Reply{};
    return Reply{.addresses = {"192.0.2.1", "192.0.2.2", "192.0.2.1", "192.0.2.3"}};
  });
  const auto answer = look_up("api.test.");
  ASSERT_TRUE(answer && answer->has_value());
  EXPECT_THAT(**answer, UnorderedElementsAre("192.0.2.1", "192.0.2.2", "192.0.2.3"));
}

TEST_F(ResolverTest, remembers_no_more_than_a_thousand_names) {
  start([](const std::string&, std::uint16_t type) -> std::optional<Reply> {
    return Reply{.addresses = {type == NameServer::kA ? "192.0.2.7" : "2001:db8::7"}, .ttl = 3600};
  });
  const auto name = [](int i) { return "n" + std::to_string(i) + ".test."; };
  for (int i = 0; i < 1200; ++i) ASSERT_TRUE(look_up(name(i)));
  int remembered = 0;
  for (int i = 0; i < 1200; ++i) remembered += resolver_->remembered(name(i)) != nullptr ? 1 : 0;
  EXPECT_EQ(remembered, 1000);
  EXPECT_NE(resolver_->remembered(name(1199)), nullptr) << "the newest has taken another's place";
}

TEST_F(ResolverTest, takes_no_more_than_eight_addresses_of_a_family) {
  for (const auto& [v4, v6] : {std::pair(25, 0), std::pair(0, 25), std::pair(25, 25), std::pair(25, 3)}) {
    start([&](const std::string&, std::uint16_t type) -> std::optional<Reply> {
      Reply reply;
      const auto net = type == NameServer::kA ? "192.0.2." : "2001:db8::";
      for (int i = 1; i <= (type == NameServer::kA ? v4 : v6); ++i) reply.addresses.push_back(net + std::to_string(i));
      return reply;
    });
    const auto answer = look_up("api.test.");
    ASSERT_TRUE(answer && answer->has_value());
    const auto is_v6 = [](const std::string& address) { return address.contains(':'); };
    EXPECT_EQ(std::ranges::count_if(**answer, is_v6), std::min(v6, 8));
    EXPECT_EQ(std::ranges::count_if(**answer, std::not_fn(is_v6)), std::min(v4, 8));
  }
}

/// The same for every name.
NameServer::Answer told(const std::vector<std::string>& v4, const std::vector<std::string>& v6) {
  return [=](const std::string&, std::uint16_t type) { return Reply{.addresses = type == NameServer::kA ? v4 : v6}; };
}

TEST_F(ResolverTest, puts_the_family_first_to_which_there_is_a_way) {
  start(told({"127.0.0.1"}, {"fe80::7"}));  // link-local, and nobody says of which link
  EXPECT_EQ(*look_up("api.test."), (Addresses{"127.0.0.1", "fe80::7"}));
}

TEST_F(ResolverTest, puts_version_6_first_where_there_is_a_way_to_both) {
  const auto here = local_addresses();
  ASSERT_TRUE(here);
  start(told({"127.0.0.1"}, {"::1"}));
  const bool has_v6 = std::ranges::count(*here, "::1") > 0;
  EXPECT_EQ(*look_up("api.test."), has_v6 ? (Addresses{"::1", "127.0.0.1"}) : (Addresses{"127.0.0.1", "::1"}));
}

TEST_F(ResolverTest, puts_addresses_of_a_site_behind_version_4) {
  start(told({"127.0.0.1"}, {"fd00::7"}));
  EXPECT_EQ(*look_up("api.test."), (Addresses{"127.0.0.1", "fd00::7"}));
}

TEST_F(ResolverTest, lets_the_families_take_turns) {
  start(told({"127.0.0.1", "127.0.0.2", "127.0.0.3"}, {"fd00::7", "fd00::8"}));
  EXPECT_EQ(*look_up("api.test."), (Addresses{"127.0.0.1", "fd00::7", "127.0.0.2", "fd00::8", "127.0.0.3"}));
}

TEST_F(ResolverTest, one_family_is_enough) {
  start([](const std::string&, std::uint16_t type) -> std::optional<Reply> {
    if (type == NameServer::kAaaa) return Reply{.addresses = {"2001:db8::9"}};
    return Reply{};
  });
  const auto answer = look_up("six.test.");
  ASSERT_TRUE(answer && answer->has_value());
  EXPECT_EQ(**answer, Addresses{"2001:db8::9"});
}

TEST_F(ResolverTest, says_that_a_name_does_not_exist) {
  start([](const std::string&, std::uint16_t) { return Reply{.rcode = NameServer::kNxdomain}; });
  const auto answer = look_up("nobody.test.");
  ASSERT_TRUE(answer && !answer->has_value());
  EXPECT_EQ(answer->error().rcode, "NXDOMAIN");
  EXPECT_FALSE(answer->error().timed_out);
}

TEST_F(ResolverTest, says_that_the_server_failed) {
  start([](const std::string&, std::uint16_t) { return Reply{.rcode = NameServer::kServfail}; });
  const auto answer = look_up("broken.test.");
  ASSERT_TRUE(answer && !answer->has_value());
  EXPECT_EQ(answer->error().rcode, "SERVFAIL");
  EXPECT_FALSE(answer->error().timed_out);
}

TEST_F(ResolverTest, says_that_a_name_has_no_address) {
  start([](const std::string&, std::uint16_t) { return Reply{}; });
  const auto answer = look_up("empty.test.");
  ASSERT_TRUE(answer && !answer->has_value());
  EXPECT_EQ(answer->error().rcode, "NODATA");
  EXPECT_FALSE(answer->error().timed_out);
}

TEST_F(ResolverTest, does_not_remember_failures) {
  start([this](const std::string& name, std::uint16_t type) {
    return failing_ ? Reply{.rcode = NameServer::kNxdomain} : *both(name, type);
  });
  EXPECT_FALSE(look_up("late.test.")->has_value());
  failing_ = false;
  EXPECT_TRUE(look_up("late.test.")->has_value());
}

TEST_F(ResolverTest, a_silent_server_is_a_time_out_within_the_time_set) {
  start(silence, 600ms);
  const auto asked_at = test::MachineClock::now();
  const auto answer = look_up("slow.test.");
  EXPECT_TRUE(test::within(650ms, asked_at));
  ASSERT_TRUE(answer && !answer->has_value());
  EXPECT_TRUE(answer->error().timed_out);
}

// What waits for a name server in the loop's thread waits far longer than this.
TEST_F(ResolverTest, the_loop_goes_on_turning_while_a_server_is_silent) {
  start(silence, 500ms);
  auto last = test::MachineClock::now();
  Timer beat(run_.loop, [&] {
    EXPECT_TRUE(test::within(50ms, last));
    last = test::MachineClock::now();
    beat.start(run_.loop.now() + 1'000);
  });
  beat.start(run_.loop.now());
  look_up("slow.test.");
  const auto dropped = resolver_->ask("another.test.", [](const LookupResult&) {});
  run_.run_for(50'000);
  resolver_.reset();
  run_.run_for(10'000);
}

TEST_F(ResolverTest, a_name_that_timed_out_may_be_asked_for_again) {
  start([this](const std::string& name, std::uint16_t type) { return failing_ ? std::nullopt : both(name, type); }, 2s);
  EXPECT_FALSE(look_up("slow.test.")->has_value());
  failing_ = false;
  EXPECT_TRUE(look_up("slow.test.")->has_value());
  run_.run_for(100'000);  // c-ares may still hear of the first question
}

TEST_F(ResolverTest, an_answer_lost_on_the_way_is_asked_for_again_in_time) {
  start([this](const std::string& name, std::uint16_t type) { return ++asked_ <= 2 ? std::nullopt : both(name, type); },
        3s);
  const auto answer = look_up("lossy.test.");
  ASSERT_TRUE(answer && answer->has_value());
}

TEST_F(ResolverTest, two_questions_for_one_name_are_asked_once) {
  start(both);
  int answers = 0;
  const auto count = [&](const LookupResult& lookup) { answers += lookup.has_value(); };
  const auto one = resolver_->ask("api.test.", count);
  const auto two = resolver_->ask("api.test.", count);
  const auto three = resolver_->ask("api.test.", count);
  ASSERT_TRUE(run_.run_until([&] { return answers == 3; }));
  EXPECT_EQ(server_->asked("api.test", NameServer::kA), 1);
  EXPECT_EQ(server_->asked("api.test", NameServer::kAaaa), 1);
}

TEST_F(ResolverTest, different_names_are_asked_for_side_by_side) {
  start(both);
  int answers = 0;
  std::vector<std::unique_ptr<Resolver::Lookup>> questions;
  for (int i = 0; i < 50; ++i) {
    questions.push_back(resolver_->ask("n" + std::to_string(i) + ".test.",
                                       [&](const LookupResult& lookup) { answers += lookup.has_value(); }));
  }
  EXPECT_TRUE(run_.run_until([&] { return answers == 50; }));
}

TEST_F(ResolverTest, remembers_an_answer_for_its_time_to_live) {
  start([](const std::string& name, std::uint16_t type) {
    auto reply = *both(name, type);
    reply.ttl = type == NameServer::kA ? 2 : 600;  // the shortest counts
    return reply;
  });
  EXPECT_EQ(resolver_->remembered("api.test."), nullptr);
  const auto asked_at = test::MachineClock::now();
  ASSERT_TRUE(look_up("api.test.")->has_value());
  ASSERT_NE(resolver_->remembered("api.test."), nullptr);
  EXPECT_THAT(*resolver_->remembered("api.test."), Contains("192.0.2.7"));
  EXPECT_EQ(resolver_->remembered("other.test."), nullptr);
  run_.run_until([&] { return resolver_->remembered("api.test.") == nullptr; });
  EXPECT_GE(test::MachineClock::now() - asked_at, 2s);
  EXPECT_TRUE(test::within(2100ms, asked_at));
}

TEST_F(ResolverTest, a_dropped_question_is_never_answered_but_its_neighbours_are) {
  start(both);
  bool dropped_heard = false, kept_heard = false;
  auto dropped = resolver_->ask("api.test.", [&](const LookupResult&) { dropped_heard = true; });
  const auto kept = resolver_->ask("api.test.", [&](const LookupResult&) { kept_heard = true; });
  dropped.reset();
  ASSERT_TRUE(run_.run_until([&] { return kept_heard; }));
  run_.run_for(20'000);
  EXPECT_FALSE(dropped_heard);
}

TEST_F(ResolverTest, a_question_may_be_dropped_by_its_own_answer_and_by_anothers) {
  start(both);
  int heard = 0;
  std::unique_ptr<Resolver::Lookup> first, second;
  first = resolver_->ask("api.test.", [&](const LookupResult&) {
    ++heard;
    first.reset();
    second.reset();
  });
  second = resolver_->ask("api.test.", [&](const LookupResult&) { heard += 10; });
  ASSERT_TRUE(run_.run_until([&] { return heard > 0; }));
  run_.run_for(20'000);
  EXPECT_EQ(heard, 1);
}

TEST_F(ResolverTest, an_answer_may_ask_again) {
  start(both);
  bool done = false;
  std::unique_ptr<Resolver::Lookup> first, second;
  first = resolver_->ask("one.test.", [&](const LookupResult&) {
    second = resolver_->ask("two.test.", [&](const LookupResult& lookup) { done = lookup.has_value(); });
  });
  EXPECT_TRUE(run_.run_until([&] { return done; }));
}

TEST_F(ResolverTest, questions_open_at_its_end_are_never_answered_and_leave_nothing_behind) {
  const std::size_t before = test::open_descriptors();
  {
    start(silence);
    bool heard = false;
    std::vector<std::unique_ptr<Resolver::Lookup>> questions;
    for (int i = 0; i < 5; ++i) {
      questions.push_back(
          resolver_->ask("n" + std::to_string(i) + ".test.", [&](const LookupResult&) { heard = true; }));
    }
    ASSERT_TRUE(run_.run_until([&] { return server_->asked_in_all() >= 5; }));
    resolver_.reset();
    run_.run_for(20'000);
    EXPECT_FALSE(heard);
    server_.reset();
  }
  EXPECT_EQ(test::open_descriptors(), before);
}

TEST_F(ResolverTest, localhost_comes_from_the_hosts_file_without_a_question) {
  start(silence, 1s);
  const auto answer = look_up("localhost");
  ASSERT_TRUE(answer && answer->has_value());
  EXPECT_THAT(**answer, Contains("127.0.0.1"));
  EXPECT_EQ(server_->asked_in_all(), 0);
}

TEST_F(ResolverTest, no_server_there_is_a_failure_in_time) {
  std::string nobody;
  {
    const NameServer gone(silence);
    nobody = gone.address();
  }
  resolver_.emplace(run_.loop, DnsConfig{.servers = {nobody}, .timeout = 1s});
  const auto asked_at = test::MachineClock::now();
  const auto answer = look_up("api.test.");
  EXPECT_TRUE(test::within(1500ms, asked_at));
  ASSERT_TRUE(answer);
  EXPECT_FALSE(answer->has_value());
}

TEST_F(ResolverTest, a_server_that_fails_leaves_it_to_the_next) {
  NameServer failing([](const std::string&, std::uint16_t) { return Reply{.rcode = NameServer::kServfail}; });
  NameServer sound(both);
  resolver_.emplace(run_.loop, DnsConfig{.servers = {failing.address(), sound.address()}});
  const auto answer = look_up("api.test.");
  ASSERT_TRUE(answer && answer->has_value());
  EXPECT_THAT(**answer, UnorderedElementsAre("192.0.2.7", "2001:db8::7"));
}

}  // namespace
}  // namespace penstock::loop
