// SPDX-License-Identifier: Apache-2.0
// A Stream over TLS, against OpenSSL's server side on a thread: what is believed, how bytes go, wait and end.
#include "tls/tls_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <thread>

#include "support/held_port.h"
#include "support/origin.h"
#include "support/test_loop.h"
#include "support/tls_server.h"

namespace penstock::tls {
namespace {

using testing::HasSubstr;

class StreamTest : public testing::Test, protected loop::StreamEvents {
 protected:
  /// Dials an origin that does this, where `host` is to be met.
  void dial(test::Origin::Script script, const std::string& host = "127.0.0.1", const test::Wanted& shown = {},
            test::TlsOptions options = {}) {
    stream_.reset();
    origin_.reset();
    server_.emplace(authority_.issue(shown), std::move(options));
    origin_.emplace(std::move(script), server_->wrap());
    dial_to(origin_->port(), host);
  }
  void dial_to(std::uint16_t port, const std::string& host = "127.0.0.1") {
    auto identity = identities_.find_or_make({.ca = authority_.file(), .client_cert = {}, .client_key = {}});
    ASSERT_TRUE(identity) << identity.error().message;
    stream_ = Stream::dial(run_.loop, {"127.0.0.1", port}, **identity, host, *this);
    stream_->keep_half_open();
  }
  bool until(std::function<bool()> done) { return run_.run_until(std::move(done)); }
  bool until_connected() {
    return until([this] { return connected_ || gone_ > 0; }) && connected_;
  }

  void on_connected() override {
    connected_ = true;
    if (reads_) stream_->read_on();
  }
  void on_read(std::string_view bytes) override {
    read_.append(bytes);
    if (drops_when_read_) stream_.reset();
  }
  void on_end() override { ended_ = true; }
  void on_drained() override { ++drained_; }
  void on_gone() override { ++gone_; }

  test::TestLoop run_;
  test::Authority authority_;
  ClientIdentities identities_;
  std::optional<test::TlsServer> server_;
  std::optional<test::Origin> origin_;
  std::unique_ptr<loop::Stream> stream_;
  std::string read_;
  bool connected_ = false, ended_ = false, reads_ = true, drops_when_read_ = false;
  int gone_ = 0, drained_ = 0;
};

std::string pattern(std::size_t size) {
  std::string bytes;
  for (std::size_t i = 0; bytes.size() < size; ++i) bytes += std::to_string(i) + ',';
  bytes.resize(size);
  return bytes;
}

TEST_F(StreamTest, carries_bytes_both_ways_and_ends_each_way_by_itself) {
  dial([](test::Origin&, test::Socket& peer, int) {
    const std::string heard = peer.read_to_end();
    peer.send("heard " + heard);
    peer.close();
  });
  ASSERT_TRUE(until_connected());
  EXPECT_TRUE(stream_->send("hello "));
  stream_->out().append("world");
  stream_->touch();
  stream_->end_writing();
  EXPECT_TRUE(until([this] { return ended_; }));
  EXPECT_EQ(read_, "heard hello world");
  EXPECT_EQ(gone_, 0);
  EXPECT_EQ(stream_->queued(), 0u);
}

TEST_F(StreamTest, sends_what_was_appended_at_the_end_of_the_turn) {
  dial([](test::Origin&, test::Socket& peer, int) { peer.send(peer.read(8)); });
  ASSERT_TRUE(until_connected());
  stream_->out().append("appended");
  stream_->touch();
  EXPECT_TRUE(until([this] { return read_ == "appended"; }));
}

TEST_F(StreamTest, shows_a_name_and_offers_one_protocol) {
  dial([](test::Origin&, test::Socket& peer, int) { peer.read_to_end(); }, "good.test", {}, {.alpn = "http/1.1"});
  ASSERT_TRUE(until_connected());
  ASSERT_TRUE(until([this] { return server_->handshakes().size() == 1; })) << "the server's side ends a little later";
  const auto seen = server_->handshakes();
  EXPECT_EQ(seen[0].sni, "good.test");
  EXPECT_EQ(seen[0].offered, "http/1.1");
  EXPECT_EQ(seen[0].version, "TLSv1.3");
}

TEST_F(StreamTest, trusts_the_authorities_of_the_system_where_none_are_named) {
  server_.emplace(authority_.issue());
  origin_.emplace([](test::Origin&, test::Socket& peer, int) { peer.read_to_end(); }, server_->wrap());
  ::setenv("SSL_CERT_FILE", authority_.file().c_str(), 1);
  const auto identity = ClientIdentity::make({});
  ::setenv("SSL_CERT_FILE", "/nowhere.pem", 1);
  const auto without = ClientIdentity::make({});
  ::unsetenv("SSL_CERT_FILE");
  ASSERT_TRUE(identity) << identity.error().message;
  stream_ = Stream::dial(run_.loop, {"127.0.0.1", origin_->port()}, *identity, "127.0.0.1", *this);
  EXPECT_TRUE(until_connected());
  ASSERT_FALSE(without);
  EXPECT_EQ(without.error().message, "tls.ca cannot be used: /nowhere.pem");
}

TEST_F(StreamTest, is_not_connected_to_whom_it_cannot_believe) {
  const struct {
    std::string host;
    test::Wanted shown;
    const char* words;
  } rows[] = {{"other.test", {}, "another name"},
              {"127.0.0.1", {.addresses = {"127.0.0.2"}}, "another name"},
              {"good.test", {.expired = true}, "expired"},
              {"good.test", {.self_signed = true}, "signed by itself"}};
  for (const auto& row : rows) {
    gone_ = 0;
    dial([](test::Origin&, test::Socket&, int) { ADD_FAILURE() << "there was a handshake"; }, row.host, row.shown);
    EXPECT_FALSE(until_connected()) << row.words;
    EXPECT_EQ(gone_, 1);
    EXPECT_EQ(stream_->dial_failure(), loop::DialFailure::certificate);
    EXPECT_THAT(stream_->failure_words(), HasSubstr(row.words));
  }
}

TEST_F(StreamTest, is_not_connected_to_who_speaks_no_tls) {
  test::Origin plain([](test::Origin&, test::Socket& peer, int) { peer.send("220 welcome to something else\r\n"); });
  dial_to(plain.port());
  EXPECT_FALSE(until_connected());
  EXPECT_EQ(stream_->dial_failure(), loop::DialFailure::handshake);
  EXPECT_THAT(stream_->failure_words(), HasSubstr("does not speak TLS"));
}

TEST_F(StreamTest, tells_why_no_connection_came_about_below_it) {
  const test::HeldPort nobody;
  dial_to(nobody.number());
  EXPECT_FALSE(until_connected());
  EXPECT_EQ(stream_->dial_failure(), loop::DialFailure::refused);
}

TEST_F(StreamTest, that_ends_without_a_goodbye_is_gone) {
  dial([](test::Origin&, test::Socket& peer, int) {
    peer.send("not all of i");
    peer.cut();
  });
  ASSERT_TRUE(until_connected());
  EXPECT_TRUE(until([this] { return gone_ > 0; }));
  EXPECT_EQ(read_, "not all of i");
  EXPECT_FALSE(ended_);
}

TEST_F(StreamTest, ends_by_a_goodbye_behind_the_last_byte) {
  const std::string much = pattern(1'000'000);
  dial([&](test::Origin&, test::Socket& peer, int) {
    peer.send(much);
    peer.close();
  });
  ASSERT_TRUE(until_connected());
  EXPECT_TRUE(until([this] { return ended_; }));
  EXPECT_TRUE(read_ == much);
  EXPECT_EQ(gone_, 0);
}

TEST_F(StreamTest, that_is_not_read_makes_the_peer_wait) {
  constexpr std::size_t kMuch = 64 * 1024 * 1024;
  std::atomic<std::size_t> sent = 0;
  dial([&](test::Origin&, test::Socket& peer, int) {
    const std::string piece(256 * 1024, 'p');
    while (sent < kMuch && peer.send(piece)) sent += piece.size();
  });
  reads_ = false;
  ASSERT_TRUE(until_connected());
  run_.run_for(200'000);
  EXPECT_LT(sent.load(), kMuch / 2);
  EXPECT_EQ(read_, "");
  stream_->read_on();
  EXPECT_TRUE(until([&] { return read_.size() >= 1024 * 1024; }));
  stream_->read_off();
  const std::size_t read = read_.size();
  run_.run_for(50'000);
  EXPECT_EQ(read_.size(), read);
  stream_->read_on();
  EXPECT_TRUE(until([&] { return read_.size() == kMuch; }));
}

TEST_F(StreamTest, says_when_bytes_have_to_wait_and_when_they_no_longer_do) {
  constexpr std::size_t kMuch = 16 * 1024 * 1024;
  std::atomic<bool> may_read = false;
  std::atomic<std::size_t> heard = 0;
  dial([&](test::Origin&, test::Socket& peer, int) {
    while (!may_read) std::this_thread::yield();
    heard = peer.read(kMuch).size();
  });
  ASSERT_TRUE(until_connected());
  EXPECT_FALSE(stream_->send(std::string(kMuch, 'x')));
  EXPECT_GT(stream_->queued(), 0u);
  EXPECT_EQ(drained_, 0);
  may_read = true;
  EXPECT_TRUE(until([&] { return drained_ == 1 && heard == kMuch; }));
  EXPECT_EQ(stream_->queued(), 0u);
}

TEST_F(StreamTest, closed_gently_gives_the_peer_everything_and_a_goodbye) {
  std::string heard;
  std::atomic<bool> done = false;
  dial([&](test::Origin&, test::Socket& peer, int) {
    heard = peer.read_to_end();
    done = !peer.was_reset();
  });
  ASSERT_TRUE(until_connected());
  const std::string much = pattern(3'000'000);
  stream_->send(much);
  loop::Stream::close_lingering(std::move(stream_));
  EXPECT_TRUE(until([&] { return done.load(); }));
  EXPECT_TRUE(heard == much);
}

TEST_F(StreamTest, may_be_dropped_in_what_it_tells) {
  dial([](test::Origin&, test::Socket& peer, int) {
    peer.send(std::string(200'000, 'x'));
    peer.read_to_end();
  });
  drops_when_read_ = true;
  ASSERT_TRUE(until_connected());
  EXPECT_TRUE(until([this] { return !stream_; }));
  EXPECT_FALSE(read_.empty());
}

TEST(ClientIdentities, are_made_once_and_name_what_they_cannot_use) {
  test::Authority authority;
  ClientIdentities identities;
  const TlsConfig good{.ca = authority.file(), .client_cert = {}, .client_key = {}};
  const auto first = identities.find_or_make(good);
  ASSERT_TRUE(first);
  EXPECT_EQ(*identities.find_or_make(good), *first);
  identities.forget();
  EXPECT_NE(*identities.find_or_make(good), *first) << "which lasts as long as somebody has it";
  EXPECT_NE(*identities.find_or_make({}), *first);
  EXPECT_THAT(identities.find_or_make({.ca = "/nowhere", .client_cert = {}, .client_key = {}}).error().message,
              HasSubstr("tls.ca cannot be used: /nowhere"));
  const auto issued = authority.issue();
  EXPECT_TRUE(identities.find_or_make({.ca = {}, .client_cert = issued.certificate, .client_key = issued.key}));
  EXPECT_THAT(identities.find_or_make({.ca = {}, .client_cert = issued.certificate, .client_key = authority.file()})
                  .error()
                  .message,
              HasSubstr("tls.clientKey"));
}

}  // namespace
}  // namespace penstock::tls
