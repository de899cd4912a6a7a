// SPDX-License-Identifier: Apache-2.0
// Clients that do not shake hands as they should: with garbage, too much of it, too slowly, or for something else than
// their CONNECT was for.
#include <gmock/gmock.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include "system/intercepted.h"
#include "system/tunnels.h"

namespace penstock::trial {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

/// The same numbers in every run.
class Dice {
 public:
  std::size_t below(std::size_t n) {
    state_ = state_ * 6364136223846793005 + 1442695040888963407;
    return static_cast<std::size_t>(state_ >> 33) % n;
  }

 private:
  std::uint64_t state_ = 7;
};

/// What a client says first that wants good.test.
std::string hello(const Intercepted& stage) {
  test::TlsClient tls(stage.trusting());
  tls.shake();
  return tls.take_out();
}

struct Attacked : Intercepted {
  using Intercepted::Intercepted;
  ~Attacked() { EXPECT_EQ(fetch("/a-healthy-request").body, "hello") << "others are none the worse"; }

  /// Sends these bytes behind a CONNECT, and its end; until the connection has ended. Each time from another address,
  /// for one that leaves again and again is made to wait.
  void expect_end(std::string_view bytes) {
    ++ended_;
    const std::string from = "127.8." + std::to_string(ended_ / 200) + "." + std::to_string(ended_ % 200 + 1);
    const auto client = connect(trusting(), "good.test", "", from.c_str());
    client->send(bytes);
    client->half_close();
    client->rest();
    EXPECT_TRUE(client->socket().ended()) << "the " << ended_ << "th: " << shown(bytes);
  }
  /// A handshake with this client comes to nothing, on both sides in these words.
  void expect_failure(const test::Shaking& how, const std::string& hears, const std::string& told) {
    const auto client = connect(how);
    EXPECT_FALSE(client->shake());
    EXPECT_THAT(client->tls.words(), HasSubstr(hears));
    EXPECT_TRUE(client->closed());
    const auto failed = failures(++failed_);
    ASSERT_EQ(failed.size(), failed_);
    EXPECT_EQ(failed.back().at("event"), "gone");
    EXPECT_EQ(failed.back().at("detail"), "no TLS with the client for good.test: " + told);
    EXPECT_EQ(failed.back().at("error"), "tls_protocol_error");
    EXPECT_EQ(daemon.status("api").at("handshakes").at("failed"), failed_);
  }

  std::size_t failed_ = 0;
  int ended_ = 0;
};

TEST(HostileHello, that_is_cut_at_any_byte_ends) {
  Attacked stage;
  const std::string sound = hello(stage);
  for (std::size_t size = 1; size <= sound.size(); ++size) stage.expect_end(sound.substr(0, size));
  const auto failed = stage.failures(sound.size());
  ASSERT_EQ(failed.size(), sound.size());
  for (const auto& event : failed) {
    EXPECT_THAT(
        event.at("detail").get<std::string>(),
        AnyOf("no TLS with the client for good.test: it broke off the TLS handshake",
              "no TLS with the client for good.test: it left before the TLS handshake",  // before its leaf is made
              HasSubstr("client left when it had our certificate")));
  }
  EXPECT_EQ(stage.daemon.status("api").at("handshakes").at("left"), 1) << "the whole one";
}

TEST(HostileHello, that_is_old_or_offers_nothing_that_is_spoken_is_told_so) {
  Attacked stage({.intercept = "h2Only: refuse"});
  stage.expect_failure({.ca = stage.ours.file(), .host = "good.test", .least = 10, .most = 10}, "protocol version",
                       "its TLS is older than 1.2");
  stage.expect_failure({.ca = stage.ours.file(), .host = "good.test", .least = 10, .most = 11}, "protocol version",
                       "its TLS is older than 1.2");
  stage.expect_failure({.ca = stage.ours.file(), .host = "good.test", .alpn = "h2"}, "no application protocol",
                       "it does not offer http/1.1 (ALPN)");
  stage.expect_failure({.ca = stage.ours.file(), .host = "good.test", .alpn = "h2", .most = 12},
                       "no application protocol", "it does not offer http/1.1 (ALPN)");
}

TEST(HostileName, may_be_missing_or_in_capitals) {
  Attacked stage;
  test::Shaking silent = stage.trusting(), loud = stage.trusting(), plain = stage.trusting();
  silent.says_sni = false;
  loud.sni = "GOOD.Test";
  plain.alpn = "";
  for (const auto& how : {silent, loud, plain}) {
    const auto client = stage.connect(how);
    ASSERT_TRUE(client->shake()) << client->tls.words();
    EXPECT_EQ(client->tls.subject(), "DNS:good.test");
    EXPECT_EQ(client->tls.alpn(), how.alpn.empty() ? "" : "http/1.1");
    stage.expect_served(*client);
  }
}

TEST(HostileHandshake, that_is_slow_ends_when_the_time_for_a_head_is_over) {
  Attacked stage({.yaml = "defaults: { timeouts: { header: 2s } }\n"});
  const auto start = Clock::now();
  const auto slow = stage.connect(stage.trusting());
  for (const char byte : hello(stage)) {
    if (!slow->send({&byte, 1}) || slow->hears_within(20ms)) break;
  }
  slow->rest();
  EXPECT_TRUE(slow->socket().ended());
  EXPECT_GE(Clock::now() - start, 2s);
  EXPECT_TRUE(within(2s + kLate, start));
  const auto stuck = stage.connect(stage.trusting());  // hears our side, and says no more
  stuck->send(hello(stage));
  EXPECT_NE(stuck->rest(), "");
  EXPECT_TRUE(stuck->socket().ended());
  const auto failed = stage.failures(2);
  ASSERT_EQ(failed.size(), 2U);
  for (const auto& event : failed) {
    EXPECT_EQ(event.at("event"), "refused");
    EXPECT_EQ(event.at("detail"), "the TLS handshake took longer than 2 s (timeouts.header)");
  }
  EXPECT_EQ(stage.daemon.metric("penstock_refusals_total", "kind=\"head_timeout\""), 2);
  EXPECT_EQ(stage.daemon.status("api").at("handshakes").at("timedOut"), 2);
}

// Behind the handshake.

TEST(HostileHandshake, again_within_tls_1_2_is_refused_and_nobody_hangs) {
  Attacked stage;
  test::Shaking how = stage.trusting();
  how.most = 12;
  const auto client = stage.connect(how);
  ASSERT_TRUE(client->shake());
  stage.expect_served(*client);
  SSL* const ssl = client->tls.ssl();
  ASSERT_EQ(SSL_renegotiate(ssl), 1);
  SSL_do_handshake(ssl);
  client->layer->flush();
  ASSERT_EQ(SSL_num_renegotiations(ssl), 1) << "another hello is on its way";
  client->rest();
  EXPECT_THAT(client->tls.words(), HasSubstr("no renegotiation")) << "our word for it";
  EXPECT_FALSE(SSL_is_init_finished(ssl)) << "and OpenSSL gives up its connection over that";
  client->close();
  EXPECT_TRUE(eventually([&] { return stage.daemon.metric("penstock_connections") == 0; }));
  EXPECT_EQ(stage.daemon.status("api").at("handshakes").at("done"), 1);
}

TEST(HostileHandshake, with_a_request_before_its_end_has_it_heard_once) {
  Attacked stage;
  std::shared_ptr<SSL_SESSION> session;
  {
    const auto first = stage.open();
    stage.expect_served(*first);
    session = first->tls.session();
  }
  SSL_SESSION_set_max_early_data(session.get(), 16 * 1024);  // nobody has allowed it
  test::Shaking how = stage.trusting();
  how.resumes = session;
  how.alpn = "http/1.1";  // that of the session
  const auto client = stage.connect(how);
  const std::string early = stage.request("/early");
  std::size_t written = 0;
  EXPECT_EQ(SSL_write_early_data(client->tls.ssl(), early.data(), early.size(), &written), 1);
  ASSERT_TRUE(client->shake()) << client->tls.words();
  EXPECT_EQ(SSL_get_early_data_status(client->tls.ssl()), SSL_EARLY_DATA_REJECTED);
  stage.expect_served(*client);
  for (const auto& seen : stage.origin.seen()) EXPECT_NE(seen.target, "/early");
}

TEST(HostileRecord, behind_the_handshake_ends_its_connection_alone) {
  Attacked stage;
  Dice dice;
  const auto other = stage.open();
  for (int i = 0; i < 60; ++i) {
    const auto client = stage.open();
    stage.expect_served(*client);  // who goes before it has asked anything might distrust us
    client->send(stage.request("/half").substr(0, 20));
    std::string garbage = i % 2 ? "\x17\x03\x03"s + std::string("\x00\x40", 2) : ""s;
    for (std::size_t size = 1 + dice.below(100); size > 0; --size) garbage += static_cast<char>(dice.below(256));
    ASSERT_EQ(::send(client->socket().fd(), garbage.data(), garbage.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(garbage.size()));
    ::shutdown(client->socket().fd(), SHUT_WR);
    client->rest();
    EXPECT_TRUE(client->socket().ended()) << i << ": " << shown(garbage);
  }
  EXPECT_TRUE(eventually([&] { return stage.daemon.metric("penstock_connections") == 1; }));
  for (const auto& seen : stage.origin.seen()) EXPECT_EQ(seen.target, "/a-healthy-request");
  stage.expect_served(*other);
}

}  // namespace
}  // namespace penstock::trial
