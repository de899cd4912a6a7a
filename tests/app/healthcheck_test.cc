// SPDX-License-Identifier: Apache-2.0
// `penstock healthcheck` against an admin port of the test's own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <thread>

#include "app/program.h"
#include "support/machine.h"

namespace penstock::app {
namespace {

using testing::HasSubstr;

std::string settings_for(int port) { return "version: 1\nadmin: { listen: 127.0.0.1:" + std::to_string(port) + " }\n"; }

// What the command says of an admin port that answers so; `head` is what it asked.
Ended healthcheck_told(const std::string& answer, std::string* head = nullptr) {
  test::ListeningSocket admin;
  const TemporaryFile file(settings_for(admin.port()));
  std::string asked;
  std::thread serving([&] { asked = serve_one(admin, answer); });
  const auto ended = penstock({"healthcheck", "--config", file.path()});
  serving.join();
  if (head) *head = asked;
  return ended;
}

TEST(Healthcheck, is_content_with_200) {
  std::string head;
  const auto ended = healthcheck_told("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", &head);
  EXPECT_EQ(ended.code, 0);
  EXPECT_EQ(ended.out + ended.err, "");
  EXPECT_THAT(head, testing::StartsWith("GET /readyz HTTP/1.1\r\nHost: 127.0.0.1:"));
}

TEST(Healthcheck, is_not_content_with_anything_else) {
  const auto draining = healthcheck_told("HTTP/1.1 503 Service Unavailable\r\n\r\n");
  EXPECT_EQ(draining.code, 1);
  EXPECT_THAT(draining.err, HasSubstr("answers HTTP/1.1 503 Service Unavailable"));
  EXPECT_EQ(healthcheck_told("").code, 1);
  EXPECT_EQ(healthcheck_told("SSH-2.0-nonsense\r\n").code, 1);
}

TEST(Healthcheck, says_that_nobody_listens) {
  const TemporaryFile file(settings_for(1));
  const auto ended = penstock({"healthcheck", "--config", file.path()});
  EXPECT_EQ(ended.code, 1);
  EXPECT_THAT(ended.err, HasSubstr("not ready: 127.0.0.1:1: Connection refused"));
}

TEST(Healthcheck, cannot_know_a_port_that_is_yet_to_be_chosen) {
  const TemporaryFile file(settings_for(0));
  EXPECT_THAT(penstock({"healthcheck", "--config", file.path()}).err, HasSubstr("port 0"));
}

TEST(Healthcheck, does_not_wait_long_for_an_answer) {
  test::ListeningSocket silent;
  const TemporaryFile file(settings_for(silent.port()));
  const auto begin = std::chrono::steady_clock::now();
  const auto ended = penstock({"healthcheck", "--config", file.path()});
  EXPECT_EQ(ended.code, 1);
  EXPECT_THAT(ended.err, HasSubstr("no answer in time"));
  EXPECT_TRUE(test::within(std::chrono::seconds(3), begin));
}

TEST(Healthcheck, asks_a_running_proxy_until_it_is_gone) {
  const TemporaryFile anywhere(settings_for(0) + "proxy: { listen: 127.0.0.1:0 }\nlog: { events: off }\n");
  Program running({"run", "--config", anywhere.path()});
  ASSERT_TRUE(running.says("\n"));
  const TemporaryFile there(settings_for(std::stoi(running.said_after("admin on http://127.0.0.1:"))));
  EXPECT_EQ(penstock({"healthcheck", "--config", there.path()}).code, 0);
  running.send(SIGTERM);
  EXPECT_EQ(running.wait().code, 0);
  EXPECT_EQ(penstock({"healthcheck", "--config", there.path()}).code, 1);
}

}  // namespace
}  // namespace penstock::app
