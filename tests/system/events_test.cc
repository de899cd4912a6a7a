// SPDX-License-Identifier: Apache-2.0
// The event log as its readers find it: order, one outcome for each request, fields, and a log that nobody drains.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include <deque>
#include <map>
#include <set>

#include "system/stage.h"

namespace penstock::trial {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;

std::string kind(const Json& event) { return event.at("event"); }

TEST(Events, tell_the_story_of_a_request) {
  Stage stage;
  stage.origin.otherwise(scripts::answers(404, "nothing here"));
  stage.ask(with_body("POST", stage.url("/path?secret=query"), "12345"));
  const auto events = stage.daemon.await_events(2, [](const Json&) { return true; });
  ASSERT_EQ(events.size(), 2u);
  for (const auto& event : events) {
    EXPECT_THAT(event.at("ts").get<std::string>(),
                MatchesRegex("[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{6}Z"));
    EXPECT_THAT(event.at("id").get<std::string>(), MatchesRegex("[A-Za-z0-9_.~-]+"));
    EXPECT_EQ(event.at("upstream"), stage.origin.host());
    EXPECT_EQ(event.at("method"), "POST");
    EXPECT_EQ(event.at("path"), "/path") << "no query";
    EXPECT_TRUE(event.at("host").get<std::string>().starts_with("127.0.0.1"));
    EXPECT_EQ(event.at("pending"), 0);
  }
  EXPECT_EQ(kind(events[0]), "dispatch");
  EXPECT_EQ(events[0].at("inFlight"), 1);
  EXPECT_GE(events[0].at("waitMs").get<double>(), 0);
  EXPECT_EQ(kind(events[1]), "complete");
  EXPECT_EQ(events[1].at("inFlight"), 0);
  EXPECT_EQ(events[1].at("status"), 404);
  EXPECT_GT(events[1].at("flightMs").get<double>(), 0);
  EXPECT_EQ(events[1].at("bytesIn"), 12);
  EXPECT_EQ(events[1].at("bytesOut"), 5);
  EXPECT_EQ(events[0].at("id"), events[1].at("id"));
}

TEST(Events, of_a_landing_come_before_the_dispatch_that_it_makes_possible) {
  Stage stage(with_defaults("maxConcurrent: 1"));
  stage.origin.otherwise(scripts::held());
  std::deque<Client> clients;
  for (int i = 0; i < 20; ++i) clients.emplace_back(stage.daemon.port()).send(get(stage.url("/" + std::to_string(i))));
  ASSERT_TRUE(stage.daemon.await_pending(stage.origin.host(), 19));
  clients[10].reset();
  ASSERT_TRUE(stage.daemon.await_pending(stage.origin.host(), 18));
  stage.origin.release_all();
  for (int i = 0; i < 20; ++i) {
    if (i == 10) continue;
    EXPECT_EQ(clients[i].reply().status, 200);
  }
  stage.daemon.await_events(19, "complete");
  int in_flight = 0;
  for (const auto& event : stage.daemon.events()) {
    in_flight += (kind(event) == "dispatch") - (kind(event) == "complete");
    EXPECT_TRUE(in_flight == 0 || in_flight == 1) << event;
    EXPECT_EQ(event.at("inFlight"), in_flight) << event;
  }
}

TEST(Events, give_every_request_exactly_one_outcome) {
  Stage stage(with_defaults("maxConcurrent: 2, queue: { maxPending: 20, maxWait: 5s }"));
  stage.origin.on("/cut", scripts::says("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n123"));
  stage.origin.on("/reset", [](Visit& visit) { visit.reset(); });
  stage.origin.on("/held", scripts::held());
  std::deque<Client> clients;
  const char* paths[] = {"/fine", "/cut", "/reset", "/held", "/fine"};
  for (int i = 0; i < 60; ++i) {
    clients.emplace_back(stage.daemon.port()).send(get(stage.url(paths[i % 5])));
    if (i % 7 == 0) clients.back().reset();
  }
  Client malformed(stage.daemon.port());
  malformed.send("GET / HTTP/1.1\r\n\r\n");
  EXPECT_EQ(malformed.reply().status, 400);
  stage.origin.release_all();
  for (int i = 0; i < 60; ++i) {
    if (i % 7 != 0) clients[i].reply();
  }
  ASSERT_TRUE(stage.daemon.await_in_flight(stage.origin.host(), 0));
  std::map<std::string, std::multiset<std::string>> stories;
  // A client that left before its request was read has none; everybody else has been answered by now.
  ASSERT_TRUE(eventually([&] {
    stories.clear();
    for (const auto& event : stage.daemon.events()) stories[event.at("id")].insert(kind(event));
    const auto is_over = [](const auto& story) { return story.second != std::multiset<std::string>{"dispatch"}; };
    return stories.size() >= 52 && std::ranges::all_of(stories, is_over);
  }));
  for (const auto& [id, story] : stories) {
    const auto outcomes = story.count("complete") + story.count("error") + story.count("refused") + story.count("gone");
    EXPECT_EQ(outcomes, 1u) << id;
    EXPECT_EQ(story.count("dispatch"), story.count("complete") + story.count("error")) << id;
  }
}

TEST(Events, name_the_reason_of_a_failure) {
  Stage stage;
  stage.origin.otherwise([](Visit& visit) { visit.reset(); });
  stage.fetch("/x");
  const auto errors = stage.daemon.await_events(1, "error");
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].at("error"), "connection_terminated");
  EXPECT_EQ(errors[0].at("status"), 502);
}

TEST(Events, of_malformed_requests_are_refusals) {
  Stage stage;
  stage.ask("GET  / HTTP/1.1\r\n\r\n");
  const auto refused = stage.daemon.await_events(1, "refused");
  ASSERT_EQ(refused.size(), 1u);
  EXPECT_EQ(refused[0].at("status"), 400);
  EXPECT_EQ(refused[0].at("error"), "http_request_error");
}

TEST(Events, cannot_be_forged_and_hold_no_credentials) {
  Stage stage;
  stage.ask(get(stage.url("/%0a%22},{%22event%22:%22complete"), "Authorization: Bearer s3cret\r\nCookie: s3cret\r\n"));
  stage.ask("GET " + stage.url("/\"quoted\\\"") + " HTTP/1.1\r\nHost: a\r\nProxy-Authorization: Basic s3cret\r\n\r\n");
  stage.daemon.await_events(1, "complete");
  for (const auto& event : stage.daemon.events()) EXPECT_EQ(event.dump().find("s3cret"), std::string::npos) << event;
  EXPECT_EQ(stage.daemon.diagnostics().find("s3cret"), std::string::npos);
}

TEST(Events, go_to_stdout_when_nothing_else_is_said) {
  int pipe_ends[2];
  ASSERT_EQ(pipe2(pipe_ends, O_CLOEXEC), 0);
  std::string out;
  {
    Stage stage({.events = "stdout", .stdout_fd = pipe_ends[1]});
    ::close(pipe_ends[1]);
    EXPECT_EQ(stage.fetch("/x").status, 200);
    char bytes[4096];
    while (out.find("complete") == std::string::npos) {
      const auto count = ::read(pipe_ends[0], bytes, sizeof bytes);
      ASSERT_GT(count, 0);
      out.append(bytes, static_cast<std::size_t>(count));
    }
  }
  ::close(pipe_ends[0]);
  EXPECT_EQ(Json::parse(out.substr(0, out.find('\n'))).at("event"), "dispatch");
}

TEST(BlockedLog, never_stalls_the_proxy) {
  int pipe_ends[2];
  ASSERT_EQ(pipe2(pipe_ends, O_CLOEXEC), 0);
  std::thread drain;
  {
    Stage stage({.events = "stdout", .stdout_fd = pipe_ends[1]});
    ::close(pipe_ends[1]);
    const std::size_t before = stage.daemon.resident_kib();
    Client client(stage.daemon.port());
    const std::string request = get(stage.url("/" + std::string(2000, 'p')));
    const int count = is_sanitized() ? 3000 : 20'000;
    for (int i = 0; i < count; ++i) {
      const auto start = Clock::now();
      client.send(request);
      ASSERT_EQ(client.reply().status, 200) << i;
      ASSERT_TRUE(within(kLate, start)) << i;
    }
    EXPECT_LT(stage.daemon.resident_kib(), before + (is_sanitized() ? 96 : 64) * 1024)
        << "lines are dropped, not heaped up";
    EXPECT_TRUE(is_sanitized() || stage.daemon.metric("penstock_events_dropped_total") > 0) << "and counted";
    drain = std::thread([fd = pipe_ends[0]] {
      char bytes[64 * 1024];
      while (::read(fd, bytes, sizeof bytes) > 0) {
      }
    });
  }
  drain.join();
  ::close(pipe_ends[0]);
}

/// An upstream after the other, each with a key that nobody knows.
std::string faults(int count) {
  std::string yaml = "upstreams:\n";
  for (int i = 0; i < count; ++i) yaml += "  u" + std::to_string(i) + ": { match: x.test, wrong: 1 }\n";
  return yaml;
}

TEST(BlockedStderr, keeps_neither_reloads_nor_the_end_waiting) {
  for (const char* events : {"", "stderr"}) {
    SCOPED_TRACE(events);
    Stage stage({.grace = "1s", .events = events});
    stage.daemon.block_stderr();
    stage.daemon.write_file(stage.daemon.text_with(faults(500)));
    for (int i = 1; i <= 5; ++i) {
      stage.daemon.signal(SIGHUP);
      ASSERT_TRUE(
          eventually([&] { return stage.daemon.metric("penstock_config_reloads_total", "result=\"failed\"") == i; }));
    }
    EXPECT_EQ(stage.fetch("/x").status, 200);
    stage.origin.on("/held", scripts::held());
    Client held(stage.daemon.port());
    held.send(get(stage.url("/held")));
    ASSERT_TRUE(stage.origin.await(2));
    const auto start = Clock::now();
    stage.daemon.signal(SIGTERM);
    EXPECT_EQ(held.reply().status, 503) << "out of grace, which is said on stderr too";
    EXPECT_EQ(stage.daemon.exit_code(10s), 0);
    EXPECT_TRUE(within(1s + 1s + (is_sanitized() ? 8s : 0s), start)) << "a second after the grace";
    stage.origin.release();
  }
}

TEST(BlockedStderr, keeps_no_second_signal_waiting) {
  Given given{.grace = "10m"};
  given.is_clean = false;
  Stage stage(given);
  stage.origin.otherwise(scripts::held());
  Client held(stage.daemon.port());
  held.send(get(stage.url()));
  ASSERT_TRUE(stage.origin.await(1));
  stage.daemon.block_stderr();
  stage.daemon.write_file(stage.daemon.text_with(faults(500)));
  stage.daemon.signal(SIGHUP);
  stage.daemon.signal(SIGTERM);
  ASSERT_TRUE(eventually([&] { return stage.daemon.admin("/readyz").status == 503; }));
  const auto start = Clock::now();
  stage.daemon.signal(SIGTERM);
  EXPECT_EQ(stage.daemon.exit_code(10s), 128 + SIGTERM);
  EXPECT_TRUE(within(kLate, start));
  stage.origin.release();
}

TEST(ManyFaults, are_told_up_to_a_number_and_the_rest_is_counted) {
  Stage stage;
  EXPECT_FALSE(stage.daemon.reloads(faults(500)));
  const std::string said = stage.daemon.diagnostics();
  EXPECT_THAT(said, HasSubstr(stage.daemon.file() + ":6:"));
  EXPECT_THAT(said, HasSubstr("\nand 979 faults more\n"));
}

void expect_served_with_lines_lost(const Stage& stage) {
  Client client(stage.daemon.port());
  for (int i = 0; i < 1000; ++i) {
    client.send(get(stage.url("/x")));
    ASSERT_EQ(client.reply().status, 200) << i;
  }
  EXPECT_TRUE(eventually([&] { return stage.daemon.metric("penstock_events_dropped_total") > 0; }))
      << "lost lines are counted";
}

TEST(ClosedLog, never_stalls_the_proxy) {
  int pipe_ends[2];
  ASSERT_EQ(pipe2(pipe_ends, O_CLOEXEC), 0);
  Stage stage({.events = "stdout", .stdout_fd = pipe_ends[1]});
  ::close(pipe_ends[0]), ::close(pipe_ends[1]);  // nobody reads, and nobody ever will
  expect_served_with_lines_lost(stage);
}

TEST(FullDisk, never_stalls_the_proxy) {
  Stage stage({.events = "/dev/full"});
  expect_served_with_lines_lost(stage);
}

}  // namespace
}  // namespace penstock::trial
