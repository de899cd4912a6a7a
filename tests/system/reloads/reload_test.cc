// SPDX-License-Identifier: Apache-2.0
// SIGHUP with a good file: upstreams, limits and access change at once, and nobody who waits, flies or stays connected
// is any the worse.
#include <gmock/gmock.h>
#include <signal.h>

#include <fstream>
#include <utility>

#include "support/tls_server.h"
#include "system/limited.h"
#include "system/tunnels.h"

namespace penstock::trial {
namespace {

TEST(ReloadedLimit, that_is_new_or_lower_holds_from_then_on) {
  Limited stage("maxConcurrent: 64");
  stage.send(5);
  stage.expect_all_served();
  ASSERT_TRUE(stage.daemon.reloads(api("queue: { maxWait: 24h }, limits: [{ counter: { max: 2, period: 1h } }]")));
  for (int i = 0; i < 5; ++i) stage.send_one("/later");
  ASSERT_TRUE(stage.daemon.await_pending("api", 3));
  EXPECT_EQ(stage.arrivals("/later").size(), 2u);
  ASSERT_TRUE(stage.daemon.reloads(api("maxConcurrent: 64"))) << "and is gone again";
  stage.expect_all_served();
  EXPECT_EQ(stage.arrivals("/later").size(), 5u);
}

/// So many held by the origin, and so many pending.
void expect_at(const Limited& stage, std::size_t in_flight, std::size_t pending) {
  EXPECT_TRUE(stage.daemon.await_in_flight("api", in_flight)) << stage.daemon.status("api");
  EXPECT_TRUE(stage.daemon.await_pending("api", pending)) << stage.daemon.status("api");
}

TEST(Reload, keeps_those_who_wait_in_their_order) {
  Limited stage("maxConcurrent: 1");
  stage.origin.on("/held", scripts::held());
  stage.send_one("/held");
  for (int i = 0; i < 30; ++i) {
    stage.send_one("/" + std::to_string(i));
    if (i % 3 == 0) {
      ASSERT_TRUE(stage.daemon.reloads(api("maxConcurrent: 1, rate: " + std::to_string(1000 + i) + "/s")));
    }
  }
  expect_at(stage, 1, 30);
  stage.origin.release();
  stage.expect_all_served();
  const auto seen = stage.origin.seen();
  ASSERT_EQ(seen.size(), 31u);
  for (int i = 0; i < 30; ++i) EXPECT_EQ(seen[i + 1].target, "/" + std::to_string(i));
}

/// Held, and then answered with this Location.
Origin::Script leads_to(std::string location) {
  return [location = std::move(location)](Visit& visit) {
    visit.read_body();
    visit.hold();
    visit.answer(302, "", "Location: " + location + "\r\n");
  };
}

TEST(ReloadedUpstreams, are_known_to_a_client_as_they_were_when_it_asked) {
  Origin plain;
  test::Authority authority;
  test::TlsServer server(authority.issue());
  Origin secure(server.wrap());
  plain.otherwise(leads_to(plain.url("/base/next")));
  secure.otherwise(leads_to(secure.url("/below/next")));
  const Daemon daemon({.yaml = "upstreams:\n  old: { baseUrl: '" + plain.url("/base") + "' }\n  tls: { match: '" +
                               secure.host() + "/below', https: originate, tls: { ca: '" + authority.file() +
                               "' } }\n"});
  Client gateway(daemon.port()), originated(daemon.port());
  gateway.send("GET /@old/x HTTP/1.1\r\nHost: localhost\r\n\r\n");
  originated.send(get("http://" + secure.host() + "/below/x"));
  ASSERT_TRUE(plain.await(1));
  ASSERT_TRUE(secure.await(1));
  for (const char* name : {"one", "two", "three"}) {
    ASSERT_TRUE(
        daemon.reloads("upstreams: { "s + name + ": { baseUrl: 'http://another.test/elsewhere/far/away' } }\n"));
  }
  plain.release();
  secure.release();
  EXPECT_EQ(gateway.reply().field("location"), "/@old/next");
  EXPECT_EQ(originated.reply().field("location"), "http://" + secure.host() + "/below/next");
}

TEST(Reload, leaves_bodies_streaming_both_ways) {
  constexpr std::size_t kHalf = 1'000'000;
  Stage stage;
  stage.origin.on("/down", [](Visit& visit) {
    visit.read_body();
    visit.write("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(2 * kHalf) + "\r\n\r\n" + pattern(0, kHalf));
    visit.hold();
    visit.last(pattern(kHalf, kHalf));
  });
  stage.origin.on("/up", scripts::echoes());
  Client down(stage.daemon.port()), up(stage.daemon.port());
  down.send(get(stage.url("/down")));
  const std::string upload = with_body("POST", stage.url("/up"), pattern(0, 2 * kHalf));
  up.send(upload.substr(0, kHalf));
  ASSERT_TRUE(stage.origin.await(2));
  ASSERT_TRUE(stage.daemon.reloads("defaults: { maxConcurrent: 1 }\n" + shut_for("deny: [127.0.0.1]")));
  stage.origin.release();
  up.send(upload.substr(kHalf));
  for (auto* client : {&down, &up}) {
    const Reply reply = client->reply();
    EXPECT_TRUE(reply.whole);
    EXPECT_TRUE(reply.body == pattern(0, 2 * kHalf));
  }
}

TEST(ReloadedTimeouts, hold_for_what_is_in_flight) {
  Stage stage;
  stage.origin.otherwise(scripts::held());
  Client client(stage.daemon.port());
  client.send(get(stage.url("/")));
  ASSERT_TRUE(stage.origin.await(1));
  ASSERT_TRUE(stage.daemon.reloads("defaults: { timeouts: { firstByte: 100ms } }\n"));
  const Reply reply = client.reply();
  expect_own_answer(reply, {504}, "http_response_timeout");
  EXPECT_THAT(reply.reason, testing::HasSubstr("100 ms"));
  stage.origin.release_all();
}

TEST(ReloadedFiles, of_a_tls_identity_are_read_anew) {
  test::Authority before, after;
  test::TlsServer old_server(before.issue()), new_server(after.issue());
  Origin old_origin(old_server.wrap()), new_origin(new_server.wrap());
  const std::string file = new_folder() + "/authority.pem";
  const auto trust = [&](const test::Authority& whom) { std::ofstream(file) << std::ifstream(whom.file()).rdbuf(); };
  trust(before);
  const std::string yaml = "upstreams: { \"*\": { tls: { ca: \"" + file + "\" } } }\n";
  Stage stage({.yaml = yaml});
  EXPECT_EQ(stage.ask(get(old_origin.url())).status, 200);
  expect_own_answer(stage.ask(get(new_origin.url())), {502}, "tls_certificate_error");
  trust(after);
  ASSERT_TRUE(stage.daemon.reloads(yaml));
  EXPECT_EQ(stage.ask(get(new_origin.url())).status, 200);
  expect_own_answer(stage.ask(get(old_origin.url())), {502}, "tls_certificate_error");
  EXPECT_EQ(old_origin.count(), 1u) << "nor is the connection used that was kept";
  std::filesystem::remove_all(std::filesystem::path(file).parent_path());
}

TEST(Reload, counts_shows_what_is_in_force_and_opens_the_event_log_anew) {
  Stage stage;
  EXPECT_EQ(stage.daemon.metric("penstock_config_reloads_total"), 0);
  EXPECT_THAT(stage.daemon.admin("/metrics").body,
              testing::HasSubstr("penstock_config_reloads_total{result=\"failed\"} 0"));
  const std::string events = std::filesystem::path(stage.daemon.file()).parent_path() / "events";
  std::filesystem::rename(events, events + ".1");
  ASSERT_TRUE(stage.daemon.reloads(api("maxConcurrent: 7")));
  EXPECT_EQ(stage.daemon.metric("penstock_config_reloads_total", "result=\"success\""), 1);
  EXPECT_TRUE(eventually([&] { return std::filesystem::exists(events); }));
  const Json shown = Json::parse(stage.daemon.admin("/status").body).at("configuration");
  EXPECT_EQ(shown.at("upstreams")[0].at("name"), "api");
  EXPECT_EQ(shown.at("upstreams")[0].at("maxConcurrent"), 7);
  EXPECT_EQ(shown.at("proxy").at("listen"), stage.daemon.host()) << "the port that was really bound";
}

TEST(Reload, changes_the_grace_of_the_end) {
  Stage stage({.grace = "1h", .is_clean = false});
  stage.origin.otherwise(scripts::held());
  Client client(stage.daemon.port());
  client.send(get(stage.url("/")));
  ASSERT_TRUE(stage.origin.await(1));
  std::string text = stage.daemon.text_with("");
  text.replace(text.find("1h"), 2, "1ms");
  stage.daemon.write_file(text);
  ASSERT_TRUE(stage.daemon.reloads());
  stage.daemon.signal(SIGTERM);
  EXPECT_EQ(client.reply().status, 503);
  EXPECT_TRUE(stage.daemon.exit_code());
  stage.origin.release_all();
}

}  // namespace
}  // namespace penstock::trial
