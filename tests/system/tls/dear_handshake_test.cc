// SPDX-License-Identifier: Apache-2.0
// What a TLS peer may insist on so that a handshake with it takes long to compute: each choice by many peers at once,
// and nobody else waits for it. What would take too long is not spoken.
#include <gmock/gmock.h>
#include <openssl/ssl.h>

#include <atomic>
#include <functional>
#include <list>
#include <thread>

#include "system/beside.h"
#include "system/intercepted.h"

namespace penstock::trial {
namespace {

/// Empty: OpenSSL's own choice.
struct Choice {
  std::string name, groups{}, ciphers{};
  int version = 13;
  std::string key = "P-256";  ///< of the upstream's certificate
  bool is_spoken = true;
};

void PrintTo(const Choice& choice, std::ostream* out) { *out << choice.name; }

const std::vector<Choice> kChoices{
    {.name = "x25519", .groups = "X25519"},
    {.name = "p256", .groups = "P-256"},
    {.name = "p384", .groups = "P-384"},
    {.name = "p521", .groups = "P-521"},
    {.name = "x448", .groups = "X448"},
    {.name = "p384_in_1_2", .groups = "P-384:P-256", .version = 12},
    {.name = "p521_in_1_2", .groups = "P-521:P-256", .version = 12},
    {.name = "rsa_4096", .key = "RSA-4096"},
    {.name = "rsa_4096_in_1_2", .groups = "P-521:P-256", .version = 12, .key = "RSA-4096"},
    {.name = "ecdsa_p521", .groups = "P-521", .key = "P-521"},
    {.name = "ffdhe2048", .groups = "ffdhe2048", .is_spoken = false},
    {.name = "ffdhe8192", .groups = "ffdhe8192", .is_spoken = false},
    {.name = "dhe_in_1_2",
     .ciphers = "DHE-RSA-AES128-GCM-SHA256",
     .version = 12,
     .key = "RSA-2048",
     .is_spoken = false}};

/// Each peer of the crowds in a thread of its own, all at once.
void shake_with(Beside& beside, const std::function<void()>& shake) {
  for (const int crowd : {kFew, kMany}) {
    std::atomic<int> done = 0;
    std::list<std::jthread> peers;
    while (static_cast<int>(peers.size()) < crowd) {
      peers.emplace_back([&] {
        shake();
        ++done;
      });
    }
    beside.ask_until(crowd, [&] { return done == crowd; });
  }
}

/// By a request that any connection may serve, or by one that asks for another protocol.
class DearHandshake : public testing::TestWithParam<std::tuple<std::string, Choice>> {};

TEST_P(DearHandshake, with_an_upstream_delays_nobody) {
  const auto& [lines, choice] = GetParam();
  test::Authority authority;
  test::TlsServer tls(
      authority.issue({.key = choice.key}),
      {.most = choice.version, .least = choice.version, .ciphers = choice.ciphers, .groups = choice.groups});
  Origin secure(tls.wrap());
  // Fifty handshakes take as long as the machine needs for them: what is judged is how long others wait beside them.
  Given given{.yaml = "defaults: { timeouts: { connect: 60s } }\n"};
  given.environment["SSL_CERT_FILE"] = authority.file();
  Daemon daemon(given);
  Beside beside(daemon);
  shake_with(beside, [&] { EXPECT_EQ(daemon.ask(get(secure.url(), lines)).status, choice.is_spoken ? 200 : 502); });
}

INSTANTIATE_TEST_SUITE_P(Each, DearHandshake,
                         testing::Combine(testing::Values("", "Connection: upgrade\r\nUpgrade: websocket\r\n"),
                                          testing::ValuesIn(kChoices)),
                         [](const auto& info) {
                           const std::string way = std::get<std::string>(info.param).empty() ? "" : "_for_an_upgrade";
                           return std::get<Choice>(info.param).name + way;
                         });

class DearClient : public testing::TestWithParam<Choice> {};

TEST_P(DearClient, delays_nobody) {
  const Choice& choice = GetParam();
  Intercepted stage;
  Beside beside(stage.daemon);
  test::Shaking how = stage.trusting();
  how.least = how.most = choice.version;
  shake_with(beside, [&] {
    const auto client = stage.connect(how);
    SSL* const ssl = client->tls.ssl();
    if (!choice.groups.empty()) {
      EXPECT_EQ(SSL_set1_groups_list(ssl, choice.groups.c_str()), 1);
    }
    if (!choice.ciphers.empty()) {
      EXPECT_EQ(SSL_set_cipher_list(ssl, choice.ciphers.c_str()), 1);
    }
    EXPECT_EQ(client->shake(), choice.is_spoken);
    if (!choice.is_spoken) return;
    client->send(stage.request("/"));
    EXPECT_EQ(client->reply().status, 200);
  });
}

INSTANTIATE_TEST_SUITE_P(Each, DearClient, testing::ValuesIn(kChoices),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace penstock::trial
