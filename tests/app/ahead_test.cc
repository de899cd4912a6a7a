// SPDX-License-Identifier: Apache-2.0
// `penstock ahead` with a daemon, and with what is no admin port of one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "app/program.h"
#include "support/origin.h"
#include "support/sockets.h"

namespace penstock::app {
namespace {

using testing::AllOf;
using testing::Gt;
using testing::HasSubstr;
using testing::Le;
using testing::StartsWith;

test::Origin::Script answers() {
  return [](test::Origin&, test::Socket& peer, int) {
    while (!peer.read_until("\r\n\r\n").empty()) peer.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
  };
}

/// One search a minute, two units an hour for each tenant; what is posted costs two.
constexpr auto kTenASecond = R"(
upstreams:
  mine:
    match: 127.0.0.1
    group: header:X-Tenant
    queue: { maxWait: 90s }
    limits: [{ window: { reservoir: 100, interval: 366d } }, { slidingWindow: { max: 2, interval: 1h, per: group, name: tenant } }]
    routes:
      - match: { path: /search }
        limits: [{ slidingWindow: { max: 1, interval: 1m } }]
      - match: { method: POST }
        weight: 2
  other: { match: a.example }
  db: { permits: true, maxConcurrent: 1 }
unmatched: deny
)";

class AheadCommand : public testing::Test {
 protected:
  AheadCommand() { EXPECT_TRUE(running_.says("admin on http://")); }
  Ended ahead(Texts words) const {
    Texts all{"ahead", "--admin", "http://" + running_.said_after("admin on http://")};
    all.insert(all.end(), words.begin(), words.end());
    return penstock(all);
  }
  nlohmann::json said(const Texts& words) const {
    const auto ended = ahead(words);
    EXPECT_EQ(ended.code, 0) << ended.err;
    return nlohmann::json::parse(ended.out, nullptr, false);
  }
  std::string url(const std::string& path) const { return "http://" + origin_.host() + path; }
  std::string sent(const std::string& path, const std::string& fields = "") {
    const auto port = static_cast<std::uint16_t>(std::stoi(running_.said_after("listening on http://127.0.0.1:")));
    test::Socket client = test::connect_to(port);
    client.send("GET " + url(path) + " HTTP/1.1\r\nHost: " + origin_.host() + "\r\n" + fields + "\r\n");
    return client.read_until("\r\n\r\n");
  }

  test::Origin origin_{answers()};
  TemporaryFile file_{kAnywhere + kTenASecond};
  Program running_{{"run", file_.path()}};
};

TEST_F(AheadCommand, says_that_a_request_would_leave_at_once) {
  const auto ahead = said({url("/")});
  EXPECT_EQ(ahead["upstream"], "mine");
  EXPECT_EQ(ahead["route"], nullptr);
  EXPECT_EQ(ahead["waitMs"], 0);
  EXPECT_EQ(ahead["limitedBy"], nullptr);
  EXPECT_EQ(ahead["pending"], 0);
}

TEST_F(AheadCommand, spends_nothing) {
  for (int i = 0; i < 5; ++i) EXPECT_EQ(said({url("/search/x")})["waitMs"], 0);
  EXPECT_THAT(sent("/search/x"), StartsWith("HTTP/1.1 200 "));
}

TEST_F(AheadCommand, names_the_route_and_what_would_be_waited_for) {
  EXPECT_THAT(sent("/search/x"), StartsWith("HTTP/1.1 200 "));
  const auto ahead = said({url("/search/y")});
  EXPECT_EQ(ahead["route"], "/search");
  EXPECT_EQ(ahead["limitedBy"], "/search:slidingWindow");
  EXPECT_THAT(ahead["waitMs"].get<double>(), AllOf(Gt(30'000), Le(60'002)));
  EXPECT_EQ(said({url("/")})["waitMs"], 0) << "of another route";
}

TEST_F(AheadCommand, knows_groups_by_their_fields) {
  for (int i = 0; i < 2; ++i) EXPECT_THAT(sent("/", "X-Tenant: a\r\n"), StartsWith("HTTP/1.1 200 "));
  const auto ahead = said({"--header", "X-Tenant: a", url("/")});
  EXPECT_EQ(ahead["limitedBy"], "tenant");
  EXPECT_THAT(ahead["waitMs"].get<double>(), Gt(3'500'000));
  EXPECT_THAT(ahead["refused"].get<std::string>(), HasSubstr("mine queue wait over (limited by tenant), retry in"));
  EXPECT_EQ(said({"--header", "X-Tenant: b", url("/")})["waitMs"], 0);
}

TEST_F(AheadCommand, counts_weights_of_the_method_and_of_its_own) {
  EXPECT_EQ(said({"POST", url("/")})["waitMs"], 0);
  EXPECT_THAT(sent("/"), StartsWith("HTTP/1.1 200 "));
  EXPECT_EQ(said({url("/")})["waitMs"], 0);
  EXPECT_EQ(said({"post", url("/")})["limitedBy"], "tenant");
  EXPECT_EQ(said({"--weight", "2", url("/")})["limitedBy"], "tenant");
  const auto heavy = ahead({"--weight", "3", url("/")});
  EXPECT_EQ(heavy.code, 1);
  EXPECT_THAT(heavy.err, HasSubstr("mine limit tenant never allows this Penstock-Weight"));
}

TEST_F(AheadCommand, of_a_permit_goes_by_its_upstream) {
  EXPECT_EQ(said({"@db"})["upstream"], "db");
  EXPECT_EQ(said({"@db"})["waitMs"], 0);
}

TEST_F(AheadCommand, says_what_the_request_itself_would_be_told) {
  const auto nowhere = ahead({"http://b.example/"});
  EXPECT_EQ(nowhere.code, 1);
  EXPECT_EQ(nowhere.out, "");
  EXPECT_THAT(nowhere.err, HasSubstr("no upstream is configured for b.example"));
  EXPECT_THAT(ahead({"@nope"}).err, HasSubstr("baseUrl or permits"));
  EXPECT_THAT(ahead({"--weight", "x", url("/")}).err, HasSubstr("weight is not one whole number from 1 to 1000000"));
  EXPECT_THAT(ahead({"GE T", url("/")}).err, HasSubstr("the method is not one word such as GET"));
  EXPECT_THAT(ahead({"http://"}).err, HasSubstr("the host is empty"));
  EXPECT_EQ(ahead({}).code, 2);
}

TEST(Ahead, of_what_is_no_penstock_says_what_came) {
  test::ListeningSocket admin;
  std::thread serving([&] { serve_one(admin, "HTTP/1.1 501 What\r\n\r\n"); });
  const auto ended = penstock({"ahead", "--admin", "127.0.0.1:" + std::to_string(admin.port()), "http://a.example/"});
  serving.join();
  EXPECT_EQ(ended.code, 1);
  EXPECT_THAT(ended.err, HasSubstr(": HTTP/1.1 501 What"));
}

}  // namespace
}  // namespace penstock::app
