// SPDX-License-Identifier: Apache-2.0
// Other settings while it runs, from a value or from a file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "origin.h"
#include "stage.h"

namespace embedding {
namespace {

using penstock::ConfigError;
using penstock::EventKind;
using penstock::Proxy;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;

/// A file that goes with the test.
struct File {
  explicit File(const std::string& text) { write(text); }
  ~File() { std::filesystem::remove(path); }
  void write(const std::string& text) const { std::ofstream(path) << text; }
  const std::string path =
      (std::filesystem::temp_directory_path() / ("penstock-embedded-" + std::to_string(getpid()) + ".yaml")).string();
};

std::string narrow_text(int max_concurrent) {
  return "version: 1\nproxy: { listen: 127.0.0.1:0 }\nadmin: { listen: 127.0.0.1:0 }\nlog: { level: off, events: off "
         "}\n"
         "upstreams: { origin: { match: 127.0.0.1, maxConcurrent: " +
         std::to_string(max_concurrent) + " } }\n";
}

TEST(Reload, names_the_settings_in_force_anew_only_if_they_changed) {
  Proxy proxy(narrow(1)), other(narrow(1));
  ASSERT_TRUE(proxy.start());
  ASSERT_TRUE(other.start());
  const auto before = proxy.snapshot();
  EXPECT_EQ(before.config_hash.size(), 12u);
  EXPECT_EQ(other.snapshot().config_hash, before.config_hash) << "other ports, the same settings";
  EXPECT_GT(before.loaded_at, 1'700'000'000);
  ASSERT_TRUE(proxy.reload(narrow(1)));
  EXPECT_EQ(proxy.snapshot().config_hash, before.config_hash);
  ASSERT_TRUE(proxy.reload(narrow(3)));
  EXPECT_NE(proxy.snapshot().config_hash, before.config_hash);
  EXPECT_GE(proxy.snapshot().loaded_at, before.loaded_at);
}

TEST(Reload, starts_those_who_waited_for_a_slot) {
  Origin origin;
  Observer told;
  Proxy proxy(narrow(1));
  told.observe(proxy);
  ASSERT_TRUE(proxy.start());
  std::vector<FutureAnswer> answers;
  for (int i = 0; i < 5; ++i) answers.push_back(submit(proxy, {.url = origin.url("/hold/" + std::to_string(i))}));
  ASSERT_TRUE(told.wait_for(EventKind::dispatch));
  EXPECT_EQ(proxy.snapshot().upstreams.front().pending, 4u);
  ASSERT_TRUE(proxy.reload(narrow(3)));
  EXPECT_EQ(proxy.config(), narrow(3));
  ASSERT_TRUE(told.wait_for(EventKind::dispatch, 3));
  EXPECT_EQ(proxy.snapshot().upstreams.front().in_flight, 3u) << "before reload() returns";
  EXPECT_EQ(proxy.snapshot().upstreams.front().max_concurrent, 3);
  origin.let_go();
  for (auto& answer : answers) {
    const auto given = wait_for(answer);
    ASSERT_TRUE(given && *given);
    EXPECT_EQ((*given)->status, 200);
  }
  EXPECT_LE(origin.most_at_once(), 3u);
}

TEST(Reload, says_everything_that_is_wrong_and_changes_nothing) {
  Proxy proxy(narrow(2));
  ASSERT_TRUE(proxy.start());
  auto other = narrow(0);
  other.upstreams.push_back(other.upstreams.front());
  auto refused = proxy.reload(other);
  ASSERT_FALSE(refused);
  EXPECT_GE(refused.error().size(), 2u);
  other = narrow(5);
  other.proxy.listen.port = 1;
  other.log.events = "stderr";
  other.dns.timeout = penstock::Duration(7'000'000);
  refused = proxy.reload(other);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error(), ElementsAre(Field(&ConfigError::message, HasSubstr("listen in proxy cannot be changed")),
                                           Field(&ConfigError::message, HasSubstr("events in log cannot be changed")),
                                           Field(&ConfigError::message, HasSubstr("dns cannot be changed"))));
  EXPECT_EQ(proxy.config(), narrow(2));
  EXPECT_EQ(proxy.snapshot().upstreams.front().max_concurrent, 2);
}

TEST(Reload, reads_a_file_and_says_where_it_is_wrong) {
  const File file(narrow_text(7));
  Proxy proxy(narrow(2));
  ASSERT_TRUE(proxy.start());
  ASSERT_TRUE(proxy.reload(file.path));
  EXPECT_EQ(proxy.snapshot().upstreams.front().max_concurrent, 7);
  file.write(narrow_text(8) + "admin: { listen: 127.0.0.1:1 }\n");
  auto refused = proxy.reload(file.path);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().front().file, file.path);
  EXPECT_EQ(refused.error().front().line, 6);
  EXPECT_EQ(proxy.config().upstreams.front().settings.max_concurrent, 7);
}

TEST(Reload, needs_a_proxy_that_runs) {
  Proxy proxy(narrow(2));
  const auto says_so = [&] {
    const auto refused = proxy.reload(narrow(3));
    return !refused && refused.error().front().message == "the proxy is not running";
  };
  EXPECT_TRUE(says_so());
  ASSERT_TRUE(proxy.start());
  EXPECT_TRUE(proxy.reload(narrow(3)));
  proxy.stop();
  EXPECT_TRUE(says_so());
  EXPECT_EQ(proxy.config(), narrow(3));
}

TEST(Reload, may_come_from_several_threads_while_others_submit) {
  Origin origin;
  Proxy proxy(narrow(1));
  ASSERT_TRUE(proxy.start());
  std::atomic<int> failed = 0;
  std::vector<std::jthread> threads;
  for (int k = 0; k < 2; ++k) {
    threads.emplace_back([&, k] {
      for (int i = 0; i < 25; ++i) failed += proxy.reload(narrow(1 + (i + k) % 4)) ? 0 : 1;
    });
    threads.emplace_back([&] {
      for (int i = 0; i < 25; ++i) {
        auto answer = submit(proxy, {.url = origin.url("/x")});
        const auto given = wait_for(answer);
        failed += given && *given && (*given)->status == 200 ? 0 : 1;
        failed += proxy.snapshot().upstreams.front().name == "origin" ? 0 : 1;
      }
    });
  }
  threads.clear();
  EXPECT_EQ(failed, 0);
}

}  // namespace
}  // namespace embedding
