// SPDX-License-Identifier: Apache-2.0
// `penstock resume` with a daemon, and with what is no admin port of one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <string>
#include <thread>

#include "app/program.h"
#include "support/origin.h"
#include "support/sockets.h"

namespace penstock::app {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

/// Refuses the first request for a minute.
test::Origin::Script busy_once() {
  return [](test::Origin& origin, test::Socket& peer, int) {
    while (!peer.read_until("\r\n\r\n").empty()) {
      origin.note("asked");
      const bool first = origin.notes().size() == 1;
      peer.send(first ? "HTTP/1.1 429 Busy\r\nRetry-After: 60\r\nContent-Length: 0\r\n\r\n"
                      : "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    }
  };
}

class ResumeCommand : public testing::Test {
 protected:
  ResumeCommand() { EXPECT_TRUE(running_.says("admin on http://")); }
  Ended resume(const std::string& upstream) const {
    return penstock({"resume", "--admin", "http://" + running_.said_after("admin on http://"), upstream});
  }

  test::Origin origin_{busy_once()};
  TemporaryFile file_{kAnywhere +
                      "quotas: { account: {} }\nupstreams:\n  mine: { match: 127.0.0.1, queue: { maxWait: 2m } }\n"
                      "  other: { match: a.example, quota: account }\n  more: { match: b.example, quota: account }\n"};
  Program running_{{"run", file_.path()}};
};

TEST_F(ResumeCommand, sends_what_waits_for_the_end_of_a_pause) {
  const auto port = static_cast<std::uint16_t>(std::stoi(running_.said_after("listening on http://127.0.0.1:")));
  test::Socket client = test::connect_to(port);
  client.send("GET http://" + origin_.host() + "/ HTTP/1.1\r\nHost: " + origin_.host() + "\r\n\r\n");
  Ended ended = resume("mine");  // until the refusal has come
  for (int tries = 0; tries < 1'000 && !ended.out.contains("end now"); ++tries) ended = resume("mine");
  EXPECT_EQ(ended.out, "mine: its pauses end now\n");
  EXPECT_EQ(ended.code, 0);
  EXPECT_THAT(client.read_until("ok"), StartsWith("HTTP/1.1 200 OK"));
}

TEST_F(ResumeCommand, says_so_where_nothing_is_paused) {
  const auto ended = resume("other");
  EXPECT_EQ(ended.code, 0);
  EXPECT_EQ(ended.out + ended.err, "other: no pause that this process knows of\n");
}

TEST_F(ResumeCommand, takes_the_name_of_a_quota) {
  const auto ended = resume("account");
  EXPECT_EQ(ended.code, 0);
  EXPECT_EQ(ended.out + ended.err, "account: no pause that this process knows of\n");
}

TEST_F(ResumeCommand, names_the_upstreams_where_there_is_no_such_one) {
  const auto ended = resume("mi ne&");
  EXPECT_EQ(ended.code, 1);
  EXPECT_EQ(ended.out, "");
  EXPECT_THAT(ended.err,
              HasSubstr("no upstream 'mi ne&': there are mine, other, account, more, and host:port of those that no"));
}

TEST(Resume, of_what_is_no_penstock_says_what_came) {
  test::ListeningSocket admin;
  std::thread serving([&] { serve_one(admin, "HTTP/1.1 501 What\r\n\r\n"); });
  const auto ended = penstock({"resume", "--admin", "127.0.0.1:" + std::to_string(admin.port()), "mine"});
  serving.join();
  EXPECT_EQ(ended.code, 1);
  EXPECT_THAT(ended.err, HasSubstr(": HTTP/1.1 501 What"));
  EXPECT_EQ(penstock({"resume"}).code, 2);
}

}  // namespace
}  // namespace penstock::app
