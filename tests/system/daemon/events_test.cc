// SPDX-License-Identifier: Apache-2.0
// The event log as its readers find it: where it goes, and a log that nobody drains.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include "system/stage.h"

namespace penstock::trial {
namespace {

using testing::HasSubstr;

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

}  // namespace
}  // namespace penstock::trial
