// SPDX-License-Identifier: Apache-2.0
// Upstreams that answer without end, to clients that read nothing, by every way through Penstock: whatever they say,
// others are served as ever, and what is kept for each stays small.
#include <gmock/gmock.h>
#include <sys/socket.h>

#include <atomic>
#include <list>

#include "support/origin.h"
#include "system/beside.h"
#include "system/intercepted.h"

namespace penstock::trial {
namespace {

/// What follows `begins` again and again.
struct Flood {
  std::string name, begins, goes_on;
};

void PrintTo(const Flood& flood, std::ostream* out) { *out << flood.name; }

const std::string kOkHead = "HTTP/1.1 200 OK\r\n";

std::vector<Flood> floods() {
  const std::string kib(1024, 'x');
  std::string fields;
  for (int i = 0; i < 190; ++i) fields += "Link: <" + kib + ">\r\n";
  return {{"empty_lines", "", "\r\n"},
          {"interims", "", "HTTP/1.1 103 Early Hints\r\nLink: </style.css>\r\n\r\n"},
          {"large_interims", "", "HTTP/1.1 103 Early Hints\r\n" + fields + "\r\n"},
          {"a_status_line", "HTTP/1.1 200 ", kib},
          {"fields", kOkHead, "Link: </style.css>\r\n"},
          {"a_field", kOkHead + "Link: ", kib},
          {"folds", kOkHead + "Link: a\r\n", " b\r\n"},
          {"a_body", kOkHead + "\r\n", kib},
          {"a_body_with_a_length", kOkHead + "Content-Length: 999999999999\r\n\r\n", kib},
          {"a_chunk_extension", kOkHead + "Transfer-Encoding: chunked\r\n\r\n1;", kib},
          {"chunks", kOkHead + "Transfer-Encoding: chunked\r\n\r\n", "1\r\nx\r\n"},
          {"a_chunk_size", kOkHead + "Transfer-Encoding: chunked\r\n\r\n", "0"},
          {"trailers", kOkHead + "Transfer-Encoding: chunked\r\n\r\n0\r\n", "X: y\r\n"},
          {"answers", "", kOkHead + "Content-Length: 2\r\n\r\nok"}};
}

/// A way through Penstock.
enum class Way { plain, tls, upgrade, upgrade_over_tls, tunnel, intercept, gateway };
constexpr std::array kWays{Way::plain,  Way::tls,       Way::upgrade, Way::upgrade_over_tls,
                           Way::tunnel, Way::intercept, Way::gateway};

std::string name_of(Way way) {
  constexpr std::array kNames{"plain", "tls", "upgrade", "upgrade_over_tls", "tunnel", "intercept", "gateway"};
  return kNames[static_cast<std::size_t>(way)];
}

bool is_over_tls(Way way) { return way == Way::tls || way == Way::upgrade_over_tls || way == Way::intercept; }

/// Says it on each connection behind the first bytes of a request, until it is cut off or nobody takes any more of it.
void flood_by(Socket& peer, const Flood& flood, const test::Wrap& wrap) {
  const int room = 32 * 1024;  // so that it is soon seen whether anybody takes what is said
  ::setsockopt(peer.fd(), SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
  std::string heard;
  if ((wrap && !peer.put_on(wrap)) || peer.receive(heard, Clock::now() + kPatience) == 0) return;
  constexpr std::size_t kAtOnce = 32 * 1024;
  std::string bytes = flood.begins;
  for (std::size_t at = 0;; at = bytes.size()) {
    bytes.erase(0, at);
    while (bytes.size() < kAtOnce) bytes += flood.goes_on;
    if (peer.send(bytes, Clock::now() + 300ms) < bytes.size()) return;
  }
}

void ask_by(Way way, TlsCaller& client, const Daemon& daemon, const std::string& host) {
  const std::string upgrade = "Connection: upgrade\r\nUpgrade: websocket\r\n";
  switch (way) {
    case Way::plain: client.send(get("http://" + host + "/")); return;
    case Way::tls: client.send(get("https://" + host + "/")); return;
    case Way::upgrade: client.send(get("http://" + host + "/", upgrade)); return;
    case Way::upgrade_over_tls: client.send(get("https://" + host + "/", upgrade)); return;
    case Way::gateway: client.send("GET /@far/ HTTP/1.1\r\nHost: " + daemon.host() + "\r\n\r\n"); return;
    case Way::tunnel:
    case Way::intercept: break;
  }
  client.send("CONNECT " + host + " HTTP/1.1\r\nHost: " + host + "\r\n\r\n");
  EXPECT_EQ(client.head().status, 200);
  if (way == Way::intercept) {
    ASSERT_TRUE(client.shake());
  }
  client.send("GET / HTTP/1.1\r\nHost: " + host + "\r\n\r\n");
}

class FloodingUpstream : public testing::TestWithParam<std::tuple<Way, Flood>> {};

TEST_P(FloodingUpstream, delays_nobody_and_is_kept_small) {
  const auto& [way, flood] = GetParam();
  test::Authority ours, roots;
  test::TlsServer tls(roots.issue());
  std::atomic<int> at_rest = 0;
  test::Origin upstream([&, wrap = is_over_tls(way) ? tls.wrap() : test::Wrap()](auto&, auto& peer, int) {
    Socket socket(::dup(peer.fd()));
    flood_by(socket, flood, wrap);
    ++at_rest;
  });
  Origin origin;
  const std::string port = std::to_string(upstream.port()), host = "localhost:" + port;
  Given given{
      .yaml = "access: { connectPorts: [" + port + "] }\nupstreams: { far: { match: localhost" +
              (way == Way::gateway ? ", baseUrl: 'http://" + host + "'" : "") +
              (way == Way::intercept ? ", https: intercept" : "") + " } }\n" +
              (way == Way::intercept ? "intercept: { ca: " + ours.file() + ", key: " + ours.key_file() + " }\n" : "")};
  given.environment["SSL_CERT_FILE"] = roots.file();
  Daemon daemon(given);
  Beside beside(daemon, origin);

  std::list<TlsCaller> clients;
  const test::Shaking how{.ca = ours.file(), .host = "localhost"};
  for (const int crowd : {kFew, kMany}) {
    while (clients.size() < static_cast<std::size_t>(crowd)) {
      ask_by(way, clients.emplace_back(daemon.port(), how, nullptr, 4096), daemon, host);
    }
    beside.ask_until(crowd, [&] { return at_rest == crowd; });
  }
}

INSTANTIATE_TEST_SUITE_P(Each, FloodingUpstream,
                         testing::Combine(testing::ValuesIn(kWays), testing::ValuesIn(floods())), [](const auto& info) {
                           return name_of(std::get<Way>(info.param)) + "_" + std::get<Flood>(info.param).name;
                         });

}  // namespace
}  // namespace penstock::trial
