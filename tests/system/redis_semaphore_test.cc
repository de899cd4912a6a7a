// SPDX-License-Identifier: Apache-2.0
// Permits that daemons share: never more in flight than the capacity, whoever dies, is cut off or forgets; and none is
// lost. The origin judges.
#include <gmock/gmock.h>

#include "system/redis_stage.h"

namespace penstock::trial {
namespace {

using testing::HasSubstr;

std::string semaphore(int capacity, std::string_view lease) {
  return "semaphore: { capacity: " + std::to_string(capacity) + ", lease: " + std::string(lease) + " }";
}

/// How many wait in Redis, whose state of it is "2s|who:granted:returned:until …|who:n:patience:kept:until …|who:at".
std::size_t waiting(SharedStage& stage) {
  const std::string text = stage.value("semaphore");
  const auto begin = text.find('|', text.find('|') + 1) + 1;
  std::istringstream waiters(text.substr(begin, text.rfind('|') - begin));
  std::size_t sum = 0;
  for (std::string word; waiters >> word;) sum += std::stoul(word.substr(word.find(':') + 1));
  return sum;
}

/// By Redis' clock, when what is held comes back unless it is renewed: the first of those.
Arrivals::Time held_until(SharedStage& stage) {
  std::string text = stage.value("semaphore");
  std::ranges::replace(text, ':', ' ');
  std::istringstream holders(text.substr(3, text.find('|', 3) - 3));
  auto first = std::chrono::microseconds::max();
  long long granted = 0, returned = 0, until = 0;
  for (std::string who; holders >> who >> granted >> returned >> until;) {
    if (granted > returned) first = std::min(first, std::chrono::microseconds(until));
  }
  return k2025 + first;
}
/// When that is by the test's own clock.
Moment by_our_clock(Arrivals::Time time) { return Clock::now() + (time - std::chrono::system_clock::now()); }
Moment arrived(const SharedStage& stage, std::size_t nth) { return stage.origin.seen().at(nth).at; }

TEST(SharedSemaphore, is_never_exceeded_and_hands_over_without_a_loss) {
  // A busy machine must not take Redis for dead, nor be late to renew: it would end requests.
  SharedStage stage({.limits = semaphore(3, "6s"), .timeout = "8s"});
  stage.origin.otherwise([&](Visit& visit) {
    stage.arrivals.note();
    if (visit.read_body()) visit.answer(200, "hello");
  });
  for (int i = 0; i < 3; ++i) stage.add();
  Load load(stage.ports(), stage.origin.url());
  ASSERT_TRUE(stage.arrivals.await(600));
  expect_only_successes(load.stop());
  EXPECT_LE(stage.origin.most_at_once(), 3u);
  stage.origin.on("/held", scripts::held());
  std::deque<Client> clients;
  for (int i = 0; i < 3; ++i) clients.emplace_back(stage.daemons[i].port()).send(get(stage.origin.url("/held")));
  const auto arrived = [&] { return std::ranges::count(stage.origin.seen(), "/held", &Seen::target) == 3; };
  EXPECT_TRUE(eventually(arrived)) << "all three are still there";
  stage.origin.release_all();
  for (auto& client : clients) EXPECT_EQ(client.reply().status, 200);
}

TEST(SharedSemaphore, hands_over_to_the_longest_waiter_whichever_daemon_it_waits_at) {
  SharedStage stage({.limits = semaphore(1, "3s"), .timeout = "8s"});
  for (int i = 0; i < 4; ++i) stage.add();
  stage.origin.otherwise(scripts::held());
  std::vector<std::string> expected{"/holds"};
  std::deque<Client> clients;
  clients.emplace_back(stage.daemons[0].port()).send(get(stage.origin.url("/holds")));
  ASSERT_TRUE(stage.origin.await(1));
  for (const std::size_t daemon : {2, 3, 1}) {
    expected.push_back("/" + std::to_string(daemon));
    clients.emplace_back(stage.daemons[daemon].port()).send(get(stage.origin.url(expected.back())));
    ASSERT_TRUE(eventually([&] { return waiting(stage) == clients.size() - 1; })) << stage.value("semaphore");
  }
  for (std::size_t i = 0; i < clients.size(); ++i) {
    ASSERT_TRUE(stage.origin.await(i + 1));
    stage.origin.release();
    EXPECT_EQ(clients[i].reply().status, 200);
  }
  std::vector<std::string> seen;
  for (const auto& each : stage.origin.seen()) seen.push_back(each.target);
  EXPECT_EQ(seen, expected);
  EXPECT_EQ(stage.origin.most_at_once(), 1u);
}

TEST(SharedSemaphore, of_a_killed_daemon_comes_back_within_a_lease_and_not_before) {
  SharedStage stage({.limits = semaphore(2, "2s"), .is_killed = true});
  Daemon& killed = stage.add();
  const Daemon& other = stage.add();
  stage.origin.otherwise(scripts::held());
  std::deque<Client> clients;
  for (Daemon* daemon : {&killed, &killed}) clients.emplace_back(daemon->port()).send(get(stage.origin.url("/lost")));
  ASSERT_TRUE(stage.origin.await(2));
  for (int i = 0; i < 2; ++i) clients.emplace_back(other.port()).send(get(stage.origin.url("/next")));
  ASSERT_TRUE(other.await_pending("api", 2));
  ASSERT_TRUE(eventually([&] { return waiting(stage) > 0; }));
  killed.signal(SIGKILL);
  ASSERT_EQ(killed.exit_code(), 128 + SIGKILL);
  const auto until = by_our_clock(held_until(stage));
  ASSERT_TRUE(stage.origin.await(4)) << "both permits";
  EXPECT_GE(arrived(stage, 2), until) << "a lease after its last renewal";
  EXPECT_TRUE(within(2s / 6 + kRecovered, until, arrived(stage, 3))) << "and the renewal of those who wait";
  stage.origin.release_all();
  for (std::size_t i = 2; i < 4; ++i) EXPECT_EQ(clients[i].reply().status, 200);
}

TEST(SharedSemaphore, survives_a_redis_that_forgets_everything) {
  SharedStage stage({.limits = semaphore(2, "6s"), .when_down = "wait"});
  const Daemon &a = stage.add(), &b = stage.add();
  stage.origin.otherwise(scripts::held());
  Client first(a.port()), second(b.port()), third(b.port());
  first.send(get(stage.origin.url("/a"))), second.send(get(stage.origin.url("/b")));
  ASSERT_TRUE(stage.origin.await(2));
  third.send(get(stage.origin.url("/c")));
  ASSERT_TRUE(eventually([&] { return waiting(stage) == 1; }));
  stage.redis.restart_empty();
  EXPECT_TRUE(throughout(5s, [&] { return stage.origin.count() == 2; })) << "two fly: no room for a third, nor later";
  EXPECT_TRUE(is_up(a) && is_up(b));
  stage.origin.release();
  ASSERT_TRUE(stage.origin.await(3)) << "but once one has landed";
  stage.origin.release_all();
  for (auto* client : {&first, &second, &third}) EXPECT_EQ(client->reply().status, 200) << "nobody was cut";
  EXPECT_LE(stage.origin.most_at_once(), 2u);
}

TEST(SharedSemaphore, with_two_capacities_cuts_nobody_and_the_larger_rules) {
  SharedStage stage({.limits = semaphore(3, "2s"), .timeout = "8s"});
  const Daemon& large = stage.add();
  Shared lower = stage.shared;
  lower.limits = semaphore(1, "2s");
  const Daemon& small = stage.add(lower);
  stage.origin.otherwise(scripts::held());
  std::deque<Client> clients;
  for (int i = 0; i < 3; ++i) clients.emplace_back(large.port()).send(get(stage.origin.url("/" + std::to_string(i))));
  ASSERT_TRUE(stage.origin.await(3));
  clients.emplace_back(small.port()).send(get(stage.origin.url("/small")));
  ASSERT_TRUE(eventually([&] { return waiting(stage) == 1; }));
  EXPECT_TRUE(throughout(1s, [&] { return stage.origin.count() == 3; })) << "renewed by both, cut by none";
  stage.origin.release(3);
  ASSERT_TRUE(stage.origin.await(4));
  stage.origin.release_all();
  for (auto& client : clients) EXPECT_EQ(client.reply().status, 200);
  EXPECT_EQ(stage.origin.most_at_once(), 3u);
}

TEST(SharedSemaphore, is_held_by_an_answer_that_takes_longer_than_a_lease) {
  SharedStage stage({.limits = semaphore(1, "4s"), .timeout = "1900ms"});
  const Daemon &a = stage.add(), &b = stage.add();
  std::atomic<bool> streams = true;
  stage.origin.on("/stream", [&](Visit& visit) {
    visit.read_body();
    visit.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    throughout(20s, [&] { return streams && visit.write(chunk("x")); });
    visit.last("0\r\n\r\n");
  });
  Client streaming(a.port()), waits(b.port());
  streaming.send(get(stage.origin.url("/stream")));
  ASSERT_TRUE(stage.origin.await(1));
  waits.send(get(stage.origin.url("/next")));
  EXPECT_TRUE(throughout(9s, [&] { return stage.origin.count() == 1; })) << "for more than two leases";
  streams = false;
  const Reply reply = streaming.reply();
  EXPECT_TRUE(reply.whole) << "and was not cut" << a.diagnostics();
  EXPECT_EQ(waits.reply().status, 200);
}

TEST(SharedSemaphore, of_a_daemon_that_is_cut_off_ends_its_flights_after_half_a_lease) {
  SharedStage stage({.limits = semaphore(2, "6s"), .when_down = "wait"});
  Relay relay(stage.redis.port());
  const Daemon& cut_off = stage.add(relay);
  const Daemon& other = stage.add();
  stage.origin.on("/silent", scripts::held());
  stage.origin.on("/streaming", [](Visit& visit) {
    visit.read_body();
    visit.write("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf of it");
    visit.sees_the_end();
    visit.close();
  });
  Client silent(cut_off.port()), streaming(cut_off.port()), waits(other.port());
  silent.send(get(stage.origin.url("/silent"))), streaming.send(get(stage.origin.url("/streaming")));
  ASSERT_TRUE(stage.origin.await(2));
  ASSERT_EQ(streaming.head().status, 200);
  waits.send(get(stage.origin.url("/waits")));
  ASSERT_TRUE(eventually([&] { return waiting(stage) == 1; }));
  relay.cut();
  const auto since = Clock::now();
  const Reply told = silent.reply();
  // The last renewal was a sixth of a lease ago, and what the machine had let it wait.
  EXPECT_GT(Clock::now() - since, std::max<Clock::duration>(900ms, 1900ms - machine_late(since - 1s, since)))
      << "half a lease after the last renewal";
  EXPECT_TRUE(within(3s + kLate, since));
  EXPECT_LT(std::chrono::system_clock::now(), held_until(stage)) << "and before it may be another's";
  EXPECT_EQ(told.status, 503);
  EXPECT_THAT(told.field("proxy-status"), HasSubstr("lease_lost: its permit could not be renewed (redis)"));
  streaming.rest();
  EXPECT_TRUE(streaming.socket().ended()) << "a broken answer is seen to be broken";
  EXPECT_EQ(stage.origin.count(), 2u) << "nobody had taken their place by then";
  const auto ended = cut_off.await_events(2, "error");
  ASSERT_EQ(ended.size(), 2u);
  for (const auto& event : ended)
    EXPECT_THAT(event.at("detail").get<std::string>(),
                HasSubstr("lease_lost: its permit could not be renewed (redis)"));
  stage.origin.release_all();
  EXPECT_EQ(waits.reply().status, 200) << "a lease after, somebody has";
}

TEST(SharedSemaphore, per_group_is_kept_by_each_group) {
  SharedStage stage({.limits = "semaphore: { capacity: 1, lease: 2s, per: group }",
                     .timeout = "8s",
                     .upstream = "group: \"path:/{team}\""});
  const Daemon &a = stage.add(), &b = stage.add();
  stage.origin.otherwise(scripts::held());
  Client reds(a.port()), blues(b.port()), more_reds(b.port());
  reds.send(get(stage.origin.url("/reds"))), blues.send(get(stage.origin.url("/blues")));
  ASSERT_TRUE(stage.origin.await(2)) << "one of each";
  more_reds.send(get(stage.origin.url("/reds")));
  ASSERT_TRUE(b.await_pending("api", 1));
  EXPECT_TRUE(throughout(300ms, [&] { return stage.origin.count() == 2; }));
  EXPECT_EQ(b.events().back().at("event"), "dispatch");
  stage.origin.release_all();
  for (auto* client : {&reds, &blues, &more_reds}) {
    const Reply reply = client->reply();
    EXPECT_EQ(reply.status, 200) << reply.head << a.diagnostics() << b.diagnostics();
  }
  const auto dispatched = b.await_events(2, "dispatch");
  ASSERT_EQ(dispatched.size(), 2u);
  EXPECT_EQ(dispatched[1].at("limitedBy"), "semaphore");
}

}  // namespace
}  // namespace penstock::trial
