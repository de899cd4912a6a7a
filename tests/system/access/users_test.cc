// SPDX-License-Identifier: Apache-2.0
// A proxy with users: who says nothing, or is wrong, is told so and reaches nobody, by whichever way in; who is right
// is let in, and what it said stays here.
#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdio>
#include <deque>
#include <fstream>
#include <memory>

#include "system/loop_watch.h"
#include "system/stage.h"

namespace penstock::trial {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// ann, ben, carl: "open sesame"; dora, eve: "tr:ee"; slow: "slow", at a hundred times the price.
const std::string kUsers =
    "# who may\n"
    "ann:$2y$04$abcdefghijklmnopqrstuu/LVz6MZlItEy42I2juLihZ66HnQx/cy\n"
    "ben:$2b$04$abcdefghijklmnopqrstuu/LVz6MZlItEy42I2juLihZ66HnQx/cy\n"
    "carl:$2a$04$abcdefghijklmnopqrstuu/LVz6MZlItEy42I2juLihZ66HnQx/cy\n"
    "dora:$6$rounds=1000$salzig$uAc5J7W7A7czTweQuyr1lQih//vT7GrH2psiivz3GaLoJ4d/"
    "pGPFBUaY5zw6fSLHbyBGVpBk.uiQS8DJpPwr51\n"
    "eve:$6$salzig$br.LKT57m8j5uga.3sReoDhG.IX2bv3BgcVwx2DWtdiyHDO8PZX0/Q.S.sCPZfwPUGRAO3WBWUC8Np5D5cpi/1\n";
const std::string kSlowUsers =
    "ann:$2y$04$abcdefghijklmnopqrstuu/LVz6MZlItEy42I2juLihZ66HnQx/cy\n"
    "slow:$2y$12$abcdefghijklmnopqrstuuvhqlfa3SToYAWnpQD0wYcoxAD7y2cEy\n";
// The same at less: about sixty milliseconds.
const std::string kGuessedUsers =
    "ann:$2y$04$abcdefghijklmnopqrstuu/LVz6MZlItEy42I2juLihZ66HnQx/cy\n"
    "slow:$2y$10$abcdefghijklmnopqrstuuTL3rBAB2FTLNnpGNZhAYflp5RzALnWK\n";
const std::string kAnn = "YW5uOm9wZW4gc2VzYW1l";
const std::string kSlow = "c2xvdzpzbG93";  // slow:slow

std::string auth(const std::string& credentials) { return "Proxy-Authorization: Basic " + credentials + "\r\n"; }

/// An htpasswd file for as long as this lives.
struct UsersFile {
  explicit UsersFile(const std::string& text) { std::ofstream(path) << text; }
  ~UsersFile() { std::remove(path.c_str()), ::rmdir(folder.c_str()); }

  std::string folder = new_folder();
  std::string path = folder + "/users";
};

/// An origin to whose port a CONNECT may go, an upstream `api` there, and a plain name for what is inside a CONNECT.
struct Guarded {
  explicit Guarded(const std::string& users = kUsers, const std::string& plain = "80",
                   const std::string& grace = "250ms")
      : file(users),
        daemon({.yaml = "access: { users: " + file.path + ", connectPorts: [" + std::to_string(origin.port()) +
                        "], plainPorts: [" + plain + "] }\nupstreams: { api: { baseUrl: 'http://" + origin.host() +
                        "/v1', match: [] } }\n",
                .grace = grace}) {}
  ~Guarded() { EXPECT_EQ(origin.complaint(), ""); }

  Reply fetch(const std::string& lines) const { return daemon.ask(get(origin.url(), lines)); }

  Origin origin;
  UsersFile file;
  Daemon daemon;
};

void expect_challenge(const Reply& reply) {
  expect_own_answer(reply, {407}, "http_request_denied");
  EXPECT_EQ(reply.field("proxy-authenticate"), R"(Basic realm="penstock", charset="UTF-8")");
}

TEST(Users, are_asked_for_and_keep_their_connection) {
  Guarded stage;
  Client client(stage.daemon.port());
  client.send(get(stage.origin.url()));
  expect_challenge(client.reply());
  client.send(get(stage.origin.url(), auth("YW5uOndyb25n")));  // ann:wrong
  expect_challenge(client.reply());
  client.send(get(stage.origin.url("/in"), auth(kAnn) + "Authorization: Bearer mine\r\n"));
  EXPECT_EQ(client.reply().body, "hello");
  client.send(get(stage.origin.url("/again")));
  expect_challenge(client.reply());
  const auto seen = stage.origin.seen();
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(seen[0].target, "/in");
  EXPECT_FALSE(seen[0].fields.has("proxy-authorization"));
  EXPECT_EQ(seen[0].fields.find("authorization"), "Bearer mine");
}

TEST(Users, are_asked_for_by_every_way_in) {
  Guarded stage;
  const std::string ways[] = {
      "GET /@api/x HTTP/1.1\r\nHost: localhost\r\n",
      "GET /@nobody HTTP/1.1\r\nHost: localhost\r\n",
      "GET " + stage.origin.url("/chat") +
          " HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: k\r\n",
      "OPTIONS " + stage.origin.url("/x") + " HTTP/1.1\r\nHost: a\r\nMax-Forwards: 0\r\n",
      "CONNECT " + stage.origin.host() + " HTTP/1.0\r\n",
      "CONNECT " + stage.origin.host() + " HTTP/1.1\r\nHost: a\r\nProxy-Connection: keep-alive\r\n",
      "GET /not-a-proxy-request HTTP/1.1\r\nHost: localhost\r\n",
      "GET http://10.0.0.1/ HTTP/1.1\r\nHost: a\r\n",
  };
  for (const auto& way : ways) {
    SCOPED_TRACE(shown(way));
    expect_challenge(stage.daemon.ask(way + "\r\n"));
    expect_challenge(stage.daemon.ask(way + auth("YW5uOndyb25n") + "\r\n"));
  }
  EXPECT_EQ(stage.origin.connections(), 0u);
  EXPECT_EQ(stage.daemon.ask(ways[0] + auth(kAnn) + "\r\n").body, "hello");
  EXPECT_EQ(stage.daemon.ask(ways[2] + auth(kAnn) + "\r\n").body, "hello");
  for (const auto& seen : stage.origin.seen()) EXPECT_FALSE(seen.fields.has("proxy-authorization"));
}

TEST(Users, open_a_tunnel_after_being_asked_on_the_same_connection) {
  Guarded stage;
  const std::string connect = "CONNECT " + stage.origin.host() + " HTTP/1.1\r\nProxy-Connection: keep-alive\r\n";
  Client client(stage.daemon.port());
  client.send(connect + "\r\n");
  expect_challenge(client.reply());
  client.send(connect + auth(kAnn) + "\r\n");
  EXPECT_EQ(client.head().status, 200);
  client.send("GET /inside HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(client.reply().body, "hello");
  client.close();
  const Json ended = stage.daemon.await_event("complete");
  EXPECT_EQ(ended.at("user"), "ann") << "whoever opened it is not forgotten";
}

TEST(Users, speak_by_a_connect_for_what_is_inside) {
  Origin inner;
  UsersFile file(kUsers);
  const std::string port = "[" + std::to_string(inner.port()) + "]";
  Daemon daemon(
      {.yaml = "access: { users: " + file.path + ", connectPorts: " + port + ", plainPorts: " + port + " }\n"});
  Client stranger(daemon.port());
  stranger.send("CONNECT " + inner.host() + " HTTP/1.1\r\n\r\nGET /early HTTP/1.1\r\nHost: a\r\n\r\n");
  expect_challenge(stranger.reply());
  EXPECT_TRUE(stranger.closed());
  Client client(daemon.port());
  client.send("CONNECT " + inner.host() + " HTTP/1.1\r\n" + auth(kAnn) + "\r\n");
  EXPECT_EQ(client.head().status, 200);
  for (const char* path : {"/1", "/2"}) {
    client.send("GET "s + path + " HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_EQ(client.reply().body, "hello");
  }
  EXPECT_EQ(inner.count(), 2u);
}

TEST(Users, who_are_being_checked_keep_their_body_and_what_they_sent_behind_it) {
  Guarded stage(kSlowUsers);
  stage.origin.otherwise(scripts::echoes());
  std::string body;
  for (std::uint64_t at = 0; at < 300'000; at += 1000) body += pattern(at, 1000);
  Client client(stage.daemon.port());
  client.send(with_body("POST", stage.origin.url(), body, auth(kSlow)) + get(stage.origin.url(), auth(kSlow)) +
              get(stage.origin.url(), auth("YW5uOndyb25n")));
  EXPECT_EQ(client.reply().body, body);
  EXPECT_EQ(client.reply().status, 200);
  expect_challenge(client.reply());
  EXPECT_EQ(stage.origin.count(), 2u);
}

/// slow:N as base64, for numbers of nine digits.
std::string guess(int number) {
  const std::string text = "slow:" + std::to_string(100'000'000 + number) + "x";
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t i = 0; i < text.size(); i += 3) {
    const unsigned bits = static_cast<unsigned>(text[i]) << 16U | static_cast<unsigned>(text[i + 1]) << 8U |
                          static_cast<unsigned>(text[i + 2]);
    for (int shift = 18; shift >= 0; shift -= 6) out += kDigits[bits >> shift & 63];
  }
  return out;
}

TEST(Users, who_guess_many_passwords_are_few_at_once_and_starve_nobody) {
  constexpr int kGuesses = 120;
  Guarded stage(kGuessedUsers);
  EXPECT_EQ(stage.fetch(auth(kAnn)).body, "hello");
  std::deque<Client> guessers;
  for (int i = 0; i < kGuesses; ++i) guessers.emplace_back(stage.daemon.port());
  for (int i = 0; i < kGuesses; ++i) guessers[i].send(get(stage.origin.url(), auth(guess(i))));
  // Who is known, and whoever asks for metrics, does not notice; who comes from elsewhere is heard.
  EXPECT_EQ(stage.fetch(auth(kAnn)).body, "hello");
  EXPECT_EQ(stage.daemon.admin("/metrics").status, 200);
  Client other(stage.daemon.port(), 0, "127.0.0.2");
  other.send(get(stage.origin.url(), auth(kSlow)));
  EXPECT_EQ(other.reply().body, "hello");
  int busy = 0;
  for (auto& guesser : guessers) {
    const Reply answer = guesser.reply();
    EXPECT_TRUE(answer.status == 407 || answer.status == 503) << answer.status;
    if (answer.status != 503) continue;
    EXPECT_EQ(answer.field("retry-after"), "1");
    ++busy;
  }
  EXPECT_GT(busy, 20) << "too many are told so at once";
  EXPECT_EQ(stage.daemon.metric("penstock_refusals_total", "kind=\"credentials_busy\""), busy);
  EXPECT_EQ(stage.origin.count(), 3u);
}

TEST(Users, whose_passwords_are_dear_to_try_stall_no_turn_of_the_loop) {
  Guarded stage(kSlowUsers);
  EXPECT_EQ(stage.fetch(auth(kAnn)).body, "hello");
  const LoopWatch loop(stage.daemon);
  std::deque<Client> guessers;
  for (int i = 1; i <= 8; ++i) guessers.emplace_back(stage.daemon.port()).send(get(stage.origin.url(), auth(guess(i))));
  for (int i = 0; i < 20; ++i) EXPECT_EQ(stage.fetch(auth(kAnn)).body, "hello");
  for (auto& guesser : guessers) expect_challenge(guesser.reply());
  loop.expect_quick_iterations();
}

TEST(Users, are_named_in_events_and_their_passwords_nowhere) {
  Guarded stage;
  stage.fetch(auth(kAnn));
  stage.fetch(auth("YW5uOndyb25n"));
  stage.fetch(auth("bm9ib2R5LW9mLW91cnM6b3BlbiBzZXNhbWU="));  // nobody-of-ours:open sesame
  const Json done = stage.daemon.await_event("complete");
  EXPECT_EQ(done.at("user"), "ann");
  ASSERT_EQ(stage.daemon.await_events(2, "refused").size(), 2u);
  std::string all =
      stage.daemon.diagnostics() + stage.daemon.admin("/status").body + stage.daemon.admin("/metrics").body;
  for (const auto& event : stage.daemon.events()) all += event.dump();
  for (const std::string& secret :
       {"sesame"s, "wrong\""s, kAnn, "YW5uOndyb25n"s, "bm9ib2R5LW9m"s, "$2y$"s, "nobody-of-ours"s}) {
    EXPECT_THAT(all, Not(HasSubstr(secret)));
  }
}

TEST(UsersFile, that_is_empty_or_not_there_lets_nobody_start) {
  const UsersFile empty("");
  for (const std::string& path : {empty.path, empty.path + "-not-there", empty.folder}) {
    const UsersFile settings("version: 1\naccess: { users: " + path + " }\n");
    const Finished ended = run_program({"run", "--config", settings.path});
    EXPECT_EQ(ended.code, 1) << path;
    EXPECT_THAT(ended.err, AllOf(HasSubstr(path + ": "), HasSubstr("access.users")));
  }
}

TEST(ReloadedUsers, hold_for_the_next_request_of_an_open_connection) {
  Guarded stage;
  Client client(stage.daemon.port());
  client.send(get(stage.origin.url(), auth(kAnn)));
  EXPECT_EQ(client.reply().body, "hello");
  std::ofstream(stage.file.path) << "eve" << kUsers.substr(kUsers.rfind(":$6$"));
  ASSERT_TRUE(stage.daemon.reloads());
  client.send(get(stage.origin.url(), auth(kAnn)));
  expect_challenge(client.reply());
  client.send(get(stage.origin.url(), auth("ZXZlOnRyOmVl")));
  EXPECT_EQ(client.reply().body, "hello");
  ASSERT_TRUE(stage.daemon.reloads(""));
  client.send(get(stage.origin.url()));
  EXPECT_EQ(client.reply().body, "hello") << "there are no users any more";
  EXPECT_EQ(stage.origin.count(), 3u);
}

TEST(ReloadedUsers, hold_for_the_next_request_inside_a_connect) {
  Origin inner;
  UsersFile file(kUsers);
  const std::string port = "[" + std::to_string(inner.port()) + "]";
  const std::string yaml =
      "access: { users: " + file.path + ", connectPorts: " + port + ", plainPorts: " + port + " }\n";
  Daemon daemon({.yaml = yaml});
  const auto inside = [&] {
    auto client = std::make_unique<Client>(daemon.port());
    client->send("CONNECT " + inner.host() + " HTTP/1.1\r\n" + auth(kAnn) + "\r\n");
    EXPECT_EQ(client->head().status, 200);
    return client;
  };
  const std::string request = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
  const auto ann = inside();
  ann->send(request);
  EXPECT_EQ(ann->reply().body, "hello");
  std::ofstream(file.path) << kUsers << "# ann is still there\nfay" << kUsers.substr(kUsers.rfind(":$6$"));
  ASSERT_TRUE(daemon.reloads());
  ann->send(request);
  EXPECT_EQ(ann->reply().body, "hello") << "her password is tried anew";
  std::ofstream(file.path) << "eve" << kUsers.substr(kUsers.rfind(":$6$"));
  ASSERT_TRUE(daemon.reloads());
  ann->send(request);
  expect_challenge(ann->reply());
  EXPECT_TRUE(ann->closed()) << "another CONNECT may speak better for it";
  EXPECT_EQ(inner.count(), 2u);
}

TEST(ReloadedUsers, of_a_file_that_is_no_good_are_told_with_its_lines_and_those_of_before_stay) {
  Guarded stage;
  for (const auto* broken : {"ann:plain\n", ""}) {
    std::ofstream(stage.file.path) << broken;
    ASSERT_FALSE(stage.daemon.reloads());
    EXPECT_THAT(stage.daemon.diagnostics(), HasSubstr(stage.file.path + (*broken ? ":1:1: user 'ann'" : ": ")));
    EXPECT_EQ(stage.fetch(auth(kAnn)).body, "hello");
    expect_challenge(stage.fetch(""));
  }
}

}  // namespace
}  // namespace penstock::trial
