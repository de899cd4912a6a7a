// SPDX-License-Identifier: Apache-2.0
// A Stream over TLS as its server, against one as its client, on one loop: who is let in, and what is said of who is
// not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/ssl.h>

#include <fstream>
#include <thread>

#include "loop/listener.h"
#include "support/sockets.h"
#include "support/test_loop.h"
#include "support/tls_authority.h"
#include "tls/certificate_cache.h"
#include "tls/tls_stream.h"

namespace penstock::tls {
namespace {

using testing::HasSubstr;

/// One end of a connection, and what it has heard.
struct End final : loop::StreamEvents {
  void on_connected() override {
    connected = true;
    stream->read_on();
  }
  void on_read(std::string_view bytes) override { read.append(bytes); }
  void on_gone() override { gone = true; }
  void on_drained() override {}

  std::unique_ptr<loop::Stream> stream;
  std::string read;
  bool connected = false, gone = false;
};

class AcceptedTest : public testing::Test {
 protected:
  AcceptedTest() {
    const auto now = loop::system_wall() / 1'000'000;
    const auto pem = make_authority("ours", now);
    std::ofstream(trusted_.folder() + "/ours.pem") << pem.certificate;
    leaf_ = Authority::read(pem, now).value()->sign("a.test", now);
    listener_ = loop::Listener::listen(run_.loop, {"127.0.0.1", 0}, [this](std::unique_ptr<loop::Stream> stream) {
                  server_.stream = Stream::accept(run_.loop, *leaf_, std::move(stream), early_, server_);
                }).value();
  }
  void dial(const std::string& ca, const std::string& host = "a.test") {
    const auto identity = identities_.find_or_make({.ca = ca, .client_cert = {}, .client_key = {}}).value();
    client_.stream = Stream::dial(run_.loop, listener_->bound(), *identity, host, client_);
  }
  std::string our_ca() const { return trusted_.folder() + "/ours.pem"; }
  bool until(std::function<bool()> done) { return run_.run_until(std::move(done)); }

  test::TestLoop run_;
  test::Authority trusted_;
  ClientIdentities identities_;
  std::shared_ptr<const Leaf> leaf_;
  std::unique_ptr<loop::Listener> listener_;
  std::string early_;
  End client_, server_;
};

TEST_F(AcceptedTest, carries_bytes_both_ways_and_ends_by_a_goodbye) {
  dial(our_ca());
  ASSERT_TRUE(until([&] { return client_.connected && server_.connected; }));
  client_.stream->send(std::string(100'000, 'q'));
  server_.stream->send(std::string(200'000, 'a'));
  ASSERT_TRUE(until([&] { return server_.read.size() == 100'000 && client_.read.size() == 200'000; }));
  loop::Stream::close_lingering(std::move(server_.stream));
  ASSERT_TRUE(until([&] { return client_.gone; }));
  EXPECT_EQ(client_.stream->dial_failure(), loop::DialFailure::none) << "that was an end";
}

TEST_F(AcceptedTest, says_who_has_rejected_its_certificate) {
  dial(trusted_.file());
  ASSERT_TRUE(until([&] { return client_.gone && server_.gone; }));
  EXPECT_FALSE(server_.connected);
  EXPECT_EQ(server_.stream->dial_failure(), loop::DialFailure::certificate);
  EXPECT_THAT(server_.stream->failure_words(), HasSubstr("it says: unknown CA"));
}

TEST_F(AcceptedTest, says_who_has_asked_for_another_host_and_tells_it_so) {
  dial(our_ca(), "b.test");
  ASSERT_TRUE(until([&] { return server_.gone; }));
  EXPECT_EQ(server_.stream->dial_failure(), loop::DialFailure::handshake);
  EXPECT_THAT(server_.stream->failure_words(), HasSubstr("another host"));
  loop::Stream::close_lingering(std::move(server_.stream));
  ASSERT_TRUE(until([&] { return client_.gone; }));
  EXPECT_THAT(client_.stream->failure_words(), HasSubstr("unrecognized name"));
}

/// What a client says first.
std::string a_hello() {
  const std::unique_ptr<SSL_CTX, SslDeleter> settings(SSL_CTX_new(TLS_client_method()));
  const Ssl ssl(SSL_new(settings.get()));
  SSL_set_connect_state(ssl.get());
  SSL_set_bio(ssl.get(), BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
  SSL_do_handshake(ssl.get());
  char* bytes = nullptr;
  const auto size = BIO_get_mem_data(SSL_get_wbio(ssl.get()), &bytes);
  return {bytes, static_cast<std::size_t>(size)};
}

TEST_F(AcceptedTest, says_who_has_left_when_it_had_the_certificate) {
  test::Socket peer = test::connect_to(listener_->bound().port);
  peer.send(a_hello());
  std::string answer;
  ASSERT_TRUE(until([&] { return !(answer += peer.peek()).empty(); }));
  peer.close();
  ASSERT_TRUE(until([&] { return server_.gone; }));
  EXPECT_EQ(server_.stream->dial_failure(), loop::DialFailure::abandoned);
}

TEST_F(AcceptedTest, takes_no_more_than_64_kib_for_a_handshake) {
  // Handshake records of 16 KiB, of a hello that announces 128 KiB.
  std::string record("\x16\x03\x01\x40\x00", 5);
  early_ = record + std::string("\x01\x02\x00\x00", 4) + std::string(0x4000 - 4, '\0');
  for (int i = 0; i < 4; ++i) early_ += record + std::string(0x4000, '\0');
  test::Socket peer = test::connect_to(listener_->bound().port);
  ASSERT_TRUE(until([&] { return server_.gone; }));
  EXPECT_THAT(server_.stream->failure_words(), HasSubstr("longer than 64 KiB"));
}

/// A client on a socket of its own, which does what OpenSSL would not do by itself.
class Chatterer {
 public:
  Chatterer(std::uint16_t port, int version)
      : settings_(SSL_CTX_new(TLS_client_method())), fd_(test::connect_to(port)) {
    SSL_CTX_set_max_proto_version(settings_.get(), version);
    ssl_.reset(SSL_new(settings_.get()));
    SSL_set_fd(ssl_.get(), fd_.fd());
    thread_ = std::thread([this] { shaken_ = SSL_connect(ssl_.get()) == 1; });
  }
  ~Chatterer() {
    if (thread_.joinable()) thread_.join();
  }
  bool shaken() {
    if (thread_.joinable()) thread_.join();
    return shaken_;
  }
  /// Until the other side has had enough; at most so often.
  int change_keys(int most) {
    for (int i = 0; i < most; ++i) {
      if (SSL_key_update(ssl_.get(), SSL_KEY_UPDATE_REQUESTED) != 1 || SSL_do_handshake(ssl_.get()) != 1) return i;
    }
    return most;
  }

 private:
  std::unique_ptr<SSL_CTX, SslDeleter> settings_;
  test::Socket fd_;
  Ssl ssl_;
  bool shaken_ = false;
  std::thread thread_;
};

TEST_F(AcceptedTest, lets_a_client_have_new_keys_but_not_one_after_the_other) {
  Chatterer client(listener_->bound().port, TLS1_3_VERSION);
  ASSERT_TRUE(until([&] { return server_.connected; }));
  ASSERT_TRUE(client.shaken());
  ASSERT_EQ(client.change_keys(100), 100);
  run_.run_for(50'000);
  EXPECT_FALSE(server_.gone);
  client.change_keys(1000);
  ASSERT_TRUE(until([&] { return server_.gone; }));
  EXPECT_LT(server_.stream->queued(), 16'000u);
}

TEST_F(AcceptedTest, says_who_speaks_no_tls_and_who_breaks_off) {
  early_ = "GET / HTTP/1.1\r\n\r\n";
  test::Socket peer = test::connect_to(listener_->bound().port);
  ASSERT_TRUE(until([&] { return server_.gone; }));
  EXPECT_THAT(server_.stream->failure_words(), HasSubstr("http request"));
  early_.clear();
  server_.gone = false;
  test::Socket other = test::connect_to(listener_->bound().port);
  other.send("\x16\x03\x01");
  other.close();
  ASSERT_TRUE(until([&] { return server_.gone; }));
  EXPECT_EQ(server_.stream->failure_words(), "it broke off the TLS handshake");
}

}  // namespace
}  // namespace penstock::tls
