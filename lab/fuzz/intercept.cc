// SPDX-License-Identifier: Apache-2.0
// A client's bytes behind its CONNECT, into the server's side of TLS: raw as they are, or those of a client of
// OpenSSL's that the input steers, cuts and changes on the way. Whatever comes, it ends once, and what arrives is what
// was said.
#include <openssl/ssl.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "fuzz/fuzz.h"
#include "loop/loop.h"
#include "tls/authority.h"
#include "tls/tls_stream.h"

namespace penstock::fuzz {
namespace {

constexpr std::int64_t kNow = 1'800'000'000;

struct Scene {
  loop::Loop loop;
  std::shared_ptr<const tls::Authority> authority =
      *tls::Authority::read(tls::make_authority("of the fuzzer", kNow), kNow);
  std::shared_ptr<const tls::Leaf> leaf = authority->sign("good.test", kNow);
};

Scene& scene() {
  static Scene the_scene;
  return the_scene;
}

/// The connection below TLS, in memory. The fuzzer keeps what the stream above owns.
struct Below {
  std::string sent;  // by the server, encrypted
  loop::StreamEvents* events = nullptr;
  bool reads = false, ended = false;
};

class Wire final : public loop::Stream {
 public:
  explicit Wire(std::shared_ptr<Below> below) : below_(std::move(below)) {}

  void read_on() override {
    below_->reads = true;
    below_->events = events_;
  }
  void read_off() override { below_->reads = false; }
  void keep_half_open() override {}
  void touch() override {
    below_->sent += out_;
    out_.clear();
  }
  bool send(std::string_view bytes) override {
    must(!below_->ended, "nothing is sent behind the end");
    below_->sent += bytes;
    return true;
  }
  void end_writing() override { below_->ended = true; }
  std::size_t queued() const override { return 0; }
  std::size_t unread_by_peer() const override { return 0; }
  bool is_read_out() const override { return false; }
  Endpoint peer() const override { return {"127.0.0.1", 1}; }
  loop::DialFailure dial_failure() const override { return loop::DialFailure::none; }
  int error() const override { return 0; }

 private:
  void end_gently(std::unique_ptr<loop::Stream>) override {}
  void end_with_reset() override {}

  std::shared_ptr<Below> below_;
};

/// Who answers in the host's place, and gives back what it hears.
class Server final : loop::StreamEvents {
 public:
  /// Encrypted, from the client. As in the proxy, the first bytes are there before there is TLS.
  void hear(std::string bytes) {
    if (gone) return;
    if (stream_) {
      must(below_->reads, "who is not done, reads");
      below_->events->on_read(bytes);
    } else {
      stream_ =
          tls::Stream::accept(scene().loop, *scene().leaf, std::make_unique<Wire>(below_), std::move(bytes), *this);
    }
    turn();
  }
  void hear_end() {
    if (!gone && stream_) below_->events->on_gone();
    turn();
  }
  std::string take_sent() { return std::exchange(below_->sent, {}); }
  bool has_heard() const { return stream_ != nullptr; }
  std::string words() const { return stream_ ? stream_->failure_words() : ""; }

  std::string heard;
  bool connected = false, gone = false;

 private:
  /// What is asked for in one pass is done in the next. Of a stream that has had its part of a turn the loop has to
  /// take real ones, for its timers, too.
  void turn() {
    constexpr int kMostTurns = 1000;
    for (int pass = 0; pass < 4; ++pass) scene().loop.run_iteration_ends();
    for (int turns = 0; stream_ && !gone && !below_->reads && turns < kMostTurns; ++turns) {
      scene().loop.stop();
      scene().loop.run();
    }
  }

  void on_connected() override {
    must(!connected && !gone, "connected once, and before the end");
    connected = true;
    stream_->read_on();
  }
  void on_read(std::string_view bytes) override {
    must(connected && !gone && !bytes.empty(), "bytes come between the handshake and the end");
    heard += bytes;
    stream_->send(bytes);
  }
  void on_gone() override {
    must(!gone, "gone once");
    gone = true;
    must(connected || !stream_->failure_words().empty(), "a handshake that fails says why");
  }
  void on_drained() override {}

  std::shared_ptr<Below> below_ = std::make_shared<Below>();
  std::unique_ptr<loop::Stream> stream_;
};

/// A client of OpenSSL's, in memory.
class Client {
 public:
  explicit Client(Choices& choices) : ssl_(SSL_new(options())) {
    SSL_set_bio(ssl_, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    SSL_set_connect_state(ssl_);
    const bool old = choices.one_in(3);
    if (old) SSL_set_max_proto_version(ssl_, TLS1_2_VERSION);
    constexpr const char* kNames[] = {"good.test", "good.test", "GOOD.test", nullptr, "bad.test", "*.test"};
    const unsigned name = choices.below(6);
    if (kNames[name]) SSL_set_tlsext_host_name(ssl_, kNames[name]);
    constexpr std::string_view kProtocols[] = {"", "\x08http/1.1", "\x02h2\x08http/1.1", "\x02h2"};
    const auto protocols = kProtocols[choices.below(4)];
    if (!protocols.empty())
      SSL_set_alpn_protos(ssl_, reinterpret_cast<const unsigned char*>(protocols.data()),
                          static_cast<unsigned>(protocols.size()));
    welcome = name < 4 && protocols != "\x02h2";
  }
  ~Client() { SSL_free(ssl_); }
  Client(const Client&) = delete;

  bool shake() { return SSL_do_handshake(ssl_) == 1; }
  void hear(const std::string& bytes) {
    if (!bytes.empty()) BIO_write(SSL_get_rbio(ssl_), bytes.data(), static_cast<int>(bytes.size()));
    char room[4096];
    for (int size = 1; SSL_is_init_finished(ssl_) && size > 0;) {
      size = SSL_read(ssl_, room, sizeof room);
      if (size > 0) heard.append(room, static_cast<std::size_t>(size));
    }
  }
  void say(std::string_view text) {
    if (SSL_write(ssl_, text.data(), static_cast<int>(text.size())) > 0) said += text;
  }
  void speak_aside(unsigned what) {
    if (what == 0) SSL_key_update(ssl_, SSL_KEY_UPDATE_REQUESTED);
    if (what == 1) SSL_renegotiate(ssl_);
    if (what == 2) SSL_shutdown(ssl_);
    if (what < 2) SSL_do_handshake(ssl_);
  }
  std::string take_out() {
    char* bytes = nullptr;
    const long size = BIO_get_mem_data(SSL_get_wbio(ssl_), &bytes);
    std::string out(bytes, static_cast<std::size_t>(size));
    (void)BIO_reset(SSL_get_wbio(ssl_));
    return out;
  }

  bool welcome = false;  // its hello is as it should be
  std::string said, heard;

 private:
  static SSL_CTX* options() {
    static SSL_CTX* const kOptions = SSL_CTX_new(TLS_client_method());
    return kOptions;
  }
  SSL* ssl_;
};

/// The way between them, on which the input may change a few bytes.
class Way {
 public:
  Way(Client& client, Server& server, Choices& choices) : client_(client), server_(server), choices_(choices) {}

  /// Until neither has anything to say.
  void go() {
    for (std::string out = client_.take_out(); !out.empty(); out = client_.take_out()) {
      spoil(out);
      pass(out);
      client_.hear(server_.take_sent());
      client_.shake();
    }
  }
  bool spoilt = false;

 private:
  void spoil(std::string& out) {
    if (!choices_.one_in(8) || !choices_.any()) return;
    spoilt = true;
    const std::size_t at = (choices_.byte() * 256 + choices_.byte()) % out.size();
    switch (choices_.below(4)) {
      case 0: out[at] = static_cast<char>(out[at] ^ (1 + choices_.below(255))); break;
      case 1: out.erase(at, 1 + choices_.below(16)); break;
      case 2: out.insert(at, out.substr(0, 1 + choices_.below(64))); break;
      case 3: out.resize(at); break;
    }
  }
  void pass(std::string_view out) {
    const std::size_t piece = choices_.one_in(4) ? 1 + choices_.below(7) : 1 + choices_.byte() * 16;
    for (; !out.empty(); out.remove_prefix(std::min(piece, out.size())))
      server_.hear(std::string(out.substr(0, piece)));  // its own memory: nobody may read behind it
  }

  Client& client_;
  Server& server_;
  Choices& choices_;
};

void try_raw(std::string_view input) {
  Server server;
  in_pieces(input, [&](std::string_view piece) {
    server.hear(std::string(piece));
    return !server.gone;
  });
  must(!server.connected, "nobody shakes hands without hearing us");
  server.hear_end();
  must(server.gone || !server.has_heard(), "the end is one");
}

void try_client(Choices choices) {
  Client client(choices);
  Server server;
  Way way(client, server, choices);
  client.shake();
  way.go();
  const bool whole = !way.spoilt;
  must(!whole || server.connected == client.welcome, "who is welcome gets in, and nobody else", server.words());
  bool asks_again = false;
  while (server.connected && !server.gone && choices.any()) {
    const unsigned what = choices.below(8);
    asks_again = asks_again || what == 1;
    what < 3 ? client.speak_aside(what) : client.say(choices.rest().substr(0, 1 + choices.byte() * 8));
    way.go();
    if (what == 2) break;
  }
  must(client.said.starts_with(server.heard), "what arrives is what was said", server.heard, client.said);
  must(server.heard.starts_with(client.heard), "and so is what comes back", client.heard, server.heard);
  const bool calm = !way.spoilt && !asks_again && server.connected;
  must(!calm || server.heard == client.said, "all of it", server.heard, client.said);
  server.hear_end();
  must(server.gone || !server.has_heard(), "the end is one");
}

}  // namespace

void try_input(std::string_view input) {
  Choices choices(input);
  if (choices.one_in(2)) return try_raw(choices.rest());
  try_client(choices);
}

}  // namespace penstock::fuzz
