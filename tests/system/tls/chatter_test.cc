// SPDX-License-Identifier: Apache-2.0
// TLS peers which say without end what carries nothing: records of every type, at every stage, to every way in which
// Penstock speaks TLS. They may neither make others wait nor have the program grow, and each is cut off.
#include <gmock/gmock.h>
#include <openssl/ssl.h>
#include <poll.h>

#include <atomic>
#include <functional>
#include <list>
#include <thread>

#include "support/origin.h"
#include "support/tls_records.h"
#include "system/beside.h"
#include "system/intercepted.h"

namespace penstock::trial {
namespace {

using test::handshake_message;
using test::plain_record;
using test::Record;
using test::RecordSealer;

/// When a peer begins to chatter.
enum class Point { hello, asked, answered };

struct Chatter {
  std::string name;
  int version;
  Point when;
  /// The next record; `keys` are there behind the handshake.
  std::function<std::string(RecordSealer* keys)> next;
  bool listens = true;  ///< to what it is answered
};

void PrintTo(const Chatter& chatter, std::ostream* out) { *out << chatter.name; }

std::function<std::string(RecordSealer*)> plain(Record type, const std::string& content) {
  return [record = plain_record(type, content)](RecordSealer*) { return record; };
}
std::function<std::string(RecordSealer*)> sealed(Record type, const std::string& content) {
  return [=](RecordSealer* keys) { return keys->seal(type, content); };
}
std::string new_keys(RecordSealer* keys) { return keys->update_keys(); }

std::string repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

const std::string kHelloRequest = handshake_message(0, "");
const std::string kNoRenegotiation = "\x01\x64", kUserCancelled = "\x01\x5a";
/// For a day, no age added, a nonce, one byte that names it, no extensions.
const std::string kTicket = handshake_message(4, std::string("\0\1\x51\x80\0\0\0\0\1n\0\1t\0\0", 15));

std::vector<Chatter> at_the_hello() {
  return {
      {"hello_requests", 12, Point::hello, plain(Record::handshake, kHelloRequest)},
      {"hello_requests_many_to_a_record", 12, Point::hello, plain(Record::handshake, repeated(kHelloRequest, 4000))},
      {"warnings", 12, Point::hello, plain(Record::alert, kNoRenegotiation)},
      {"changes_of_cipher", 13, Point::hello, plain(Record::change_cipher_spec, "\x01")},
      {"records_of_nothing", 13, Point::hello, plain(Record::handshake, "")},
      {"records_of_no_known_type", 13, Point::hello, plain(Record::unknown, "x")},
      {"a_hello_byte_by_byte", 12, Point::hello, [first = true](RecordSealer*) mutable {
         const bool is_first = std::exchange(first, false);
         return plain_record(Record::handshake, is_first ? std::string("\x02\x00\x3f\xff", 4) : "\x03");
       }}};
}

std::vector<Chatter> behind_the_handshake(std::initializer_list<Point> stages) {
  std::vector<Chatter> all;
  for (const Point stage : stages) {
    const std::string name = stage == Point::asked ? "asked" : "answered";
    const auto add = [&](const std::string& what, int version, const auto& next) {
      all.push_back({what + "_when_" + name, version, stage, next});
    };
    add("new_keys", 13, new_keys);
    all.push_back({"new_keys_unheard_when_" + name, 13, stage, new_keys, false});
    add("tickets", 13, sealed(Record::handshake, kTicket));
    add("tickets_many_to_a_record", 13, sealed(Record::handshake, repeated(kTicket, 800)));
    add("cancellations", 13, sealed(Record::alert, kUserCancelled));
    add("changes_of_cipher", 13, plain(Record::change_cipher_spec, "\x01"));
    add("records_of_nothing", 13, sealed(Record::application, ""));
    add("handshakes_of_nothing", 13, sealed(Record::handshake, ""));
    add("records_of_no_known_type", 13, sealed(Record::unknown, "x"));
    add("hello_requests", 12, sealed(Record::handshake, kHelloRequest));
    add("hello_requests_many_to_a_record", 12, sealed(Record::handshake, repeated(kHelloRequest, 4000)));
    add("warnings", 12, sealed(Record::alert, kNoRenegotiation));
    add("records_of_nothing_in_1_2", 12, sealed(Record::application, ""));
    add("changes_of_cipher_in_1_2", 12, plain(Record::change_cipher_spec, "\x01"));
  }
  return all;
}

/// Much more than anybody has to say, made beforehand: at the time of the test this machine is the program's.
std::string chatter_of(const Chatter& chatter, RecordSealer* keys) {
  constexpr int kRecords = 2000;
  constexpr std::size_t kEnough = 256 * 1024;
  auto next = chatter.next;
  std::string bytes;
  for (int i = 0; i < kRecords && bytes.size() < kEnough; ++i) bytes += next(keys);
  return bytes;
}

/// Says all of it. True when the connection is no longer there, in the end.
bool is_cut_off(Socket& peer, const std::string& bytes, bool listens) {
  peer.send(bytes);
  const auto until = Clock::now() + kPatience;
  for (std::string heard; Clock::now() < until; heard.clear()) {
    pollfd gone{.fd = peer.fd(), .events = static_cast<short>(POLLRDHUP | (listens ? POLLIN : 0)), .revents = 0};
    ::poll(&gone, 1, 100);
    if ((gone.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0) return true;
    if ((gone.revents & POLLIN) != 0 && peer.receive(heard, until) == 0) return true;
  }
  return false;
}

/// A server all of whose connections chatter, from the moment on at which the test lets them.
class Chatterer {
 public:
  Chatterer(const test::Issued& shown, Chatter chatter)
      : chatter_(std::move(chatter)), context_(SSL_CTX_new(TLS_server_method()), SSL_CTX_free) {
    SSL_CTX_set_min_proto_version(context_.get(), test::tls_version(chatter_.version));
    SSL_CTX_set_max_proto_version(context_.get(), test::tls_version(chatter_.version));
    EXPECT_EQ(SSL_CTX_use_certificate_chain_file(context_.get(), shown.certificate.c_str()), 1);
    EXPECT_EQ(SSL_CTX_use_PrivateKey_file(context_.get(), shown.key.c_str(), SSL_FILETYPE_PEM), 1);
  }
  ~Chatterer() { begin(kMany); }
  Chatterer(const Chatterer&) = delete;

  std::uint16_t port() const { return origin_.port(); }
  int ready() const { return ready_; }
  /// The first `peers`.
  void begin(int peers) {
    begun_ = peers;
    begun_.notify_all();
  }
  /// How many can say no more, for the connection is no longer there.
  int cut_off() const { return cut_off_; }

 private:
  void serve(int fd, int number) {
    const std::unique_ptr<SSL, decltype(&SSL_free)> ssl(SSL_new(context_.get()), SSL_free);
    RecordSealer::prepare(ssl.get());
    SSL_set_fd(ssl.get(), fd);
    std::optional<RecordSealer> keys;
    if (chatter_.when != Point::hello && !hear_request(ssl.get(), number)) return;
    if (chatter_.when != Point::hello) keys.emplace(ssl.get(), chatter_.when == Point::answered ? 1 : 0);
    const std::string bytes = chatter_of(chatter_, keys ? &*keys : nullptr);
    ++ready_;
    for (int begun = begun_; begun < number; begun = begun_) begun_.wait(begun);
    Socket peer(::dup(fd));
    if (is_cut_off(peer, bytes, chatter_.listens)) ++cut_off_;
  }

  /// It answers when the whole crowd has been asked: nobody else may ask over the same connection.
  bool hear_request(SSL* ssl, int number) {
    std::array<char, 4096> request;
    if (SSL_accept(ssl) != 1 || SSL_read(ssl, request.data(), request.size()) <= 0) return false;
    ++asked_;
    if (!eventually([&] { return asked_ == (number <= kFew ? kFew : kMany); })) return false;
    const std::string answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    return chatter_.when == Point::asked || SSL_write(ssl, answer.data(), static_cast<int>(answer.size())) > 0;
  }

  const Chatter chatter_;
  const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context_;
  std::atomic<int> asked_ = 0, ready_ = 0, begun_ = 0, cut_off_ = 0;
  test::Origin origin_{[this](auto&, auto& peer, int number) { serve(peer.fd(), number); }};  // last: it uses the rest
};

/// By a request that any connection may serve, or by one that asks for another protocol.
enum class PendingAsks { plainly, to_upgrade };

class ChatteringUpstream : public testing::TestWithParam<std::tuple<PendingAsks, Chatter>> {};

TEST_P(ChatteringUpstream, delays_nobody_and_is_cut_off) {
  const auto& [asks, chatter] = GetParam();
  test::Authority authority;
  Chatterer upstream(authority.issue(), chatter);
  Given given{.yaml = "defaults: { timeouts: { connect: 20s, firstByte: 20s } }\n"};
  given.environment["SSL_CERT_FILE"] = authority.file();
  Daemon daemon(given);
  Beside beside(daemon);

  const std::string request =
      get("https://127.0.0.1:" + std::to_string(upstream.port()) + "/",
          asks == PendingAsks::to_upgrade ? "Connection: upgrade\r\nUpgrade: websocket\r\n" : "");
  for (const int crowd : {kFew, kMany}) {
    std::list<Client> clients;
    while (upstream.cut_off() + static_cast<int>(clients.size()) < crowd) {
      clients.emplace_back(daemon.port()).send(request);
    }
    ASSERT_TRUE(eventually([&] { return upstream.ready() == crowd; }));
    if (chatter.when == Point::answered) {
      for (auto& client : clients) EXPECT_EQ(client.reply().body, "ok");
    }
    upstream.begin(crowd);
    beside.ask_until(crowd, [&] { return upstream.cut_off() == crowd; });
    if (chatter.when == Point::answered) continue;
    for (auto& client : clients) EXPECT_EQ(client.reply().status, 502);
  }
}

std::string name_of(const testing::TestParamInfo<std::tuple<PendingAsks, Chatter>>& info) {
  return std::get<Chatter>(info.param).name;
}

using testing::Combine, testing::Values, testing::ValuesIn;
INSTANTIATE_TEST_SUITE_P(AtTheHello, ChatteringUpstream,
                         Combine(Values(PendingAsks::plainly), ValuesIn(at_the_hello())), name_of);
INSTANTIATE_TEST_SUITE_P(BehindTheHandshake, ChatteringUpstream,
                         Combine(Values(PendingAsks::plainly),
                                 ValuesIn(behind_the_handshake({Point::asked, Point::answered}))),
                         name_of);
INSTANTIATE_TEST_SUITE_P(AtTheHelloOfAnUpgrade, ChatteringUpstream,
                         Combine(Values(PendingAsks::to_upgrade), ValuesIn(at_the_hello())), name_of);
INSTANTIATE_TEST_SUITE_P(OfAnUpgrade, ChatteringUpstream,
                         Combine(Values(PendingAsks::to_upgrade), ValuesIn(behind_the_handshake({Point::asked}))),
                         name_of);

/// What a client says inside a CONNECT that we answer in the upstream's place.
class ChatteringClient : public testing::TestWithParam<Chatter> {};

TEST_P(ChatteringClient, delays_nobody_and_is_cut_off) {
  const Chatter& chatter = GetParam();
  Intercepted stage;
  Beside beside(stage.daemon);
  test::Shaking how = stage.trusting();
  how.least = how.most = chatter.version;
  std::atomic<int> cut_off = 0;
  for (const int crowd : {kFew, kMany}) {
    std::list<std::unique_ptr<TlsCaller>> clients;
    std::list<std::string> says;
    while (cut_off + static_cast<int>(clients.size()) < crowd) {
      // Each from an address of its own: one that leaves again and again without a request is kept waiting.
      const std::string from = "127.0.1." + std::to_string(cut_off + static_cast<int>(clients.size()) + 1);
      auto& tls = clients.emplace_back(stage.connect(how, "good.test", "", from.c_str()))->tls;
      RecordSealer::prepare(tls.ssl());
      ASSERT_TRUE(clients.back()->shake());
      RecordSealer keys(tls.ssl(), 0);
      says.push_back(chatter_of(chatter, &keys));
    }
    std::list<std::jthread> threads;
    for (auto bytes = says.begin(); const auto& client : clients) {
      threads.emplace_back([&, &bytes = *bytes++, fd = client->socket().fd()] {
        Socket peer(::dup(fd));
        if (is_cut_off(peer, bytes, chatter.listens)) ++cut_off;
      });
    }
    beside.ask_until(crowd, [&] { return cut_off == crowd; });
  }
}

INSTANTIATE_TEST_SUITE_P(BehindTheHandshake, ChatteringClient, ValuesIn(behind_the_handshake({Point::asked})),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace penstock::trial
