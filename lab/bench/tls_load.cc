// SPDX-License-Identifier: Apache-2.0
// bench_tls_load: clients that ask a TLS origin for the same thing again and again through a proxy that is asked by
// CONNECT, one thread. They keep their connections, or open one for each request; they verify the certificate that they
// are given, and the first answer or certificate that is not as expected ends the program.
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bench/answer.h"
#include "bench/cues.h"
#include "bench/histogram.h"
#include "bench/sockets.h"

namespace penstock::bench {
namespace {

constexpr std::string_view kUsage =
    "usage: bench_tls_load kept|new PROXY-PORT ORIGIN-PORT LENGTH CLIENTS CA-FILE WARM-UP-SECONDS SECONDS\n"
    "         warms up, says `ready`, waits for a line, measures, says what it measured, and stays until\n"
    "         its input ends, so that its own cost can be read\n"
    "kept: each client keeps its connection; new: it opens one for each request. CA-FILE has whom it trusts, nobody\n"
    "else. All on 127.0.0.1; the origin is asked for as `localhost`, for which the certificate has to be.";

constexpr int kPatienceMs = 30'000;
constexpr std::size_t kRoomForHead = 4096;
constexpr const char* kHost = "localhost";  // a name, as usual; and one that every proxy can look up
constexpr unsigned char kProtocols[] = "\x08http/1.1";

/// As die(), with what OpenSSL has to say.
[[noreturn]] void die_of_tls(const std::string& what, const SSL* tls = nullptr) {
  const long verdict = tls ? SSL_get_verify_result(tls) : X509_V_OK;
  std::string why = verdict == X509_V_OK ? "" : std::string(": ") + X509_verify_cert_error_string(verdict);
  for (unsigned long code; (code = ERR_get_error()) != 0;) why += std::string(": ") + ERR_error_string(code, nullptr);
  die(what + why);
}

struct Freed {
  void operator()(SSL* tls) const { SSL_free(tls); }
  void operator()(SSL_CTX* settings) const { SSL_CTX_free(settings); }
};
using Tls = std::unique_ptr<SSL, Freed>;
using TlsSettings = std::unique_ptr<SSL_CTX, Freed>;

TlsSettings settings_of(const std::string& ca_file) {
  TlsSettings settings(SSL_CTX_new(TLS_client_method()));
  if (!settings || SSL_CTX_load_verify_file(settings.get(), ca_file.c_str()) != 1) die_of_tls(ca_file);
  SSL_CTX_set_verify(settings.get(), SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_alpn_protos(settings.get(), kProtocols, sizeof kProtocols - 1);
  SSL_CTX_set_read_ahead(settings.get(), 1);
  return settings;
}

struct Task {
  bool kept = false;
  std::uint16_t proxy_port = 0;
  std::uint16_t origin_port = 0;
  std::size_t length = 0;
  std::size_t clients = 0;
  std::string ca_file;

  std::string origin() const { return kHost + (":" + std::to_string(origin_port)); }
  std::string opening() const { return "CONNECT " + origin() + " HTTP/1.1\r\nHost: " + origin() + "\r\n\r\n"; }
  std::string request() const {
    return "GET /bench/answer HTTP/1.1\r\nHost: " + origin() + "\r\nUser-Agent: bench_load\r\nAccept: */*\r\n\r\n";
  }
};

struct Client {
  enum class Stage : std::uint8_t { none, tunnel, handshake, open };

  Stage stage = Stage::none;
  int fd = -1;
  Tls tls;
  std::int64_t asked_at = 0;
  std::size_t received = 0;
  std::unique_ptr<char[]> bytes;
};

class Load {
 public:
  explicit Load(const Task& task)
      : task_(task), body_(answer_body(task.length)), room_(task.length + kRoomForHead), clients_(task.clients) {
    for (Client& client : clients_) client.bytes = std::make_unique_for_overwrite<char[]>(room_);
  }

  /// Every client asks again and again until the time is over; returns when the last answer is in.
  void ask_for(double seconds) {
    const std::int64_t begin = now_ns();
    ask_until_ = begin + to_ns(seconds);
    latencies_ = Histogram{};
    for (Client& client : clients_) ask(client);
    while (missing_ > 0) turn();
    elapsed_ = static_cast<double>(now_ns() - begin) / 1e9;
  }

  void report() const {
    std::printf(
        "{\"requests\": %zu, \"with_warm_up\": %zu, \"seconds\": %.6f, \"p50_us\": %.1f, \"p99_us\": %.1f, "
        "\"tls\": \"%s\"}\n",
        latencies_.total(), answered_, elapsed_, latencies_.quantile_us(0.50), latencies_.quantile_us(0.99),
        agreed_.c_str());
    std::fflush(stdout);
  }

 private:
  using Stage = Client::Stage;

  void ask(Client& client) {
    ++missing_;
    client.received = 0;
    client.asked_at = now_ns();
    if (client.stage == Stage::open) return request(client);
    client.fd = connect_to_loopback(task_.proxy_port);
    client.stage = Stage::tunnel;
    watch(epoll_, client.fd, static_cast<std::uint64_t>(&client - clients_.data()));
    if (!send_whole(client.fd, opening_)) die("the proxy hung up");
  }

  void turn() {
    std::array<epoll_event, 256> events;
    const int ready = epoll_wait(epoll_, events.data(), events.size(), kPatienceMs);
    if (ready == 0) die(std::to_string(missing_) + " requests are without an answer for 30 s");
    if (ready < 0 && errno != EINTR) die_of_errno("epoll_wait");
    for (int at = 0; at < ready; ++at) step(clients_[events[static_cast<std::size_t>(at)].data.u64]);
  }

  void step(Client& client) {
    if (client.stage == Stage::tunnel) return take_head(client);
    if (client.stage == Stage::handshake) return shake_hands(client);
    receive(client);
  }

  /// Of the answer to CONNECT. Nobody has begun to speak, so nothing stands behind it.
  void take_head(Client& client) {
    const ssize_t size = recv(client.fd, client.bytes.get() + client.received, room_ - client.received, 0);
    if (size < 0 && errno == EAGAIN) return;
    client.received += static_cast<std::size_t>(std::max<ssize_t>(size, 0));
    const std::string_view head(client.bytes.get(), client.received);
    const bool whole = head.ends_with("\r\n\r\n");
    if (size <= 0 || (whole && !head.starts_with("HTTP/1.1 200 "))) die("no tunnel came about:\n" + std::string(head));
    if (whole) begin_tls(client);
  }

  void begin_tls(Client& client) {
    client.received = 0;
    client.stage = Stage::handshake;
    client.tls.reset(SSL_new(settings_.get()));
    if (!client.tls || SSL_set1_host(client.tls.get(), kHost) != 1 ||
        SSL_set_tlsext_host_name(client.tls.get(), kHost) != 1 || SSL_set_fd(client.tls.get(), client.fd) != 1) {
      die_of_tls("no TLS");
    }
    shake_hands(client);
  }

  void shake_hands(Client& client) {
    const int result = SSL_connect(client.tls.get());
    if (result != 1 && SSL_get_error(client.tls.get(), result) == SSL_ERROR_WANT_READ) return;
    if (result != 1) die_of_tls("no handshake", client.tls.get());
    if (agreed_.empty()) agreed_ = agreed_on(client.tls.get());
    client.stage = Stage::open;
    request(client);
  }

  /// Version, cipher and the kind of the certificate's key, which decide what TLS costs.
  static std::string agreed_on(const SSL* tls) {
    const EVP_PKEY* key = X509_get0_pubkey(SSL_get0_peer_certificate(tls));
    return std::string(SSL_get_version(tls)) + " " + SSL_get_cipher_name(tls) + ", " + EVP_PKEY_get0_type_name(key) +
           " " + std::to_string(EVP_PKEY_get_bits(key));
  }

  void request(Client& client) {
    const auto size = static_cast<int>(request_.size());
    if (SSL_write(client.tls.get(), request_.data(), size) != size) die_of_tls("a request could not be sent");
  }

  void receive(Client& client) {
    while (client.stage == Stage::open) {
      std::size_t size = 0;
      char* const to = client.bytes.get() + client.received;
      const int result = SSL_read_ex(client.tls.get(), to, room_ - client.received, &size);
      if (result != 1 && SSL_get_error(client.tls.get(), result) == SSL_ERROR_WANT_READ) return;
      if (result != 1) die_of_tls("a connection ended in the middle of an answer");
      client.received += size;
      if (is_whole(client)) return finish(client);
    }
  }

  bool is_whole(const Client& client) const {
    const std::string_view answer(client.bytes.get(), client.received);
    const Arrival arrival = judge(answer, body_);
    if (arrival == Arrival::wrong || (arrival == Arrival::partial && client.received == room_)) {
      die("not the expected answer:\n" + std::string(answer.substr(0, 600)));
    }
    return arrival == Arrival::whole;
  }

  void finish(Client& client) {
    const std::int64_t now = now_ns();
    latencies_.add(now - client.asked_at);
    ++answered_;
    --missing_;
    if (!task_.kept) hang_up(client);
    if (now < ask_until_) ask(client);
  }

  static void hang_up(Client& client) {
    SSL_shutdown(client.tls.get());
    client.tls.reset();
    close(client.fd);
    client.stage = Stage::none;
  }

  const Task task_;
  const std::string opening_ = task_.opening();
  const std::string request_ = task_.request();
  const std::string body_;
  const std::size_t room_;
  const TlsSettings settings_ = settings_of(task_.ca_file);
  const int epoll_ = new_epoll();
  std::vector<Client> clients_;
  Histogram latencies_;
  std::string agreed_;
  std::int64_t ask_until_ = 0;
  std::size_t missing_ = 0, answered_ = 0;
  double elapsed_ = 0;
};

int run(int count, char** words) {
  const std::string mode = count == 9 ? words[1] : "";
  if (mode != "kept" && mode != "new") die(std::string(kUsage));
  const auto number = [&](int at) { return std::strtoul(words[at], nullptr, 10); };
  const Task task{.kept = mode == "kept",
                  .proxy_port = static_cast<std::uint16_t>(number(2)),
                  .origin_port = static_cast<std::uint16_t>(number(3)),
                  .length = number(4),
                  .clients = number(5),
                  .ca_file = words[6]};
  std::signal(SIGPIPE, SIG_IGN);  // OpenSSL writes without MSG_NOSIGNAL
  allow_open_files(task.clients + 64);
  Load load(task);
  load.ask_for(std::atof(words[7]));
  say("ready");
  wait_for_a_line();
  load.ask_for(std::atof(words[8]));
  load.report();
  wait_for_a_line();
  return 0;
}

}  // namespace
}  // namespace penstock::bench

int main(int count, char** words) { return penstock::bench::run(count, words); }
