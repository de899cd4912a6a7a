// SPDX-License-Identifier: Apache-2.0
// The stage of the tests about interception: an origin over TLS, the entry `api` in whose place Penstock answers with
// certificates of an authority made for the test, and clients that speak TLS, by OpenSSL, inside their CONNECT.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "support/name_server.h"
#include "support/tls_client.h"
#include "support/tls_server.h"
#include "system/stage.h"

namespace penstock::trial {

/// A client inside its CONNECT. Once it has shaken hands, all that Client does goes through TLS.
class TlsCaller : public Client {
 public:
  TlsCaller(std::uint16_t port, const test::Shaking& how, const char* from = nullptr, int receive_buffer = 0)
      : Client(port, receive_buffer, from), tls(how) {}
  ~TlsCaller() { close(); }

  /// Whether the handshake comes to its end.
  bool shake();
  /// Without a good-bye.
  void cut() { socket().cut(); }

  test::TlsClient tls;
  test::TlsClientLayer* layer = nullptr;  // once it has shaken hands
};

/// What a test about interception starts with.
struct Scene {
  std::string settings = "maxConcurrent: 64";        ///< keys of the upstream `api`
  std::string match = "[good.test, '*.good.test']";  ///< of it
  std::string https = "intercept";                   ///< of it
  std::string intercept{};                           ///< more keys of `intercept`
  std::string yaml{};                                ///< more keys of the file
  std::string grace = "250ms";
  test::Wanted shown{.names = {"good.test", "*.good.test", "other.test"}};  ///< by the origin
  bool knows_roots = true;                                                  ///< Penstock trusts the origin's authority
  std::vector<std::uint16_t> ports{};                                       ///< where a CONNECT may go, too
  std::string access{};                                                     ///< more keys of `access`
  std::string more_upstreams{};                                             ///< "b: { … }, "
  std::map<std::string, std::string> environment{};                         ///< more of Penstock's
};

struct Intercepted {
  explicit Intercepted(Scene its = {});
  /// Nothing malformed may ever have reached the origin.
  ~Intercepted() { EXPECT_EQ(origin.complaint(), ""); }

  /// The file's keys; where `by` is given, with that authority in the place of ours.
  std::string yaml(const test::Authority* by = nullptr) const;
  std::string at(const std::string& host = "good.test") const { return host + ":" + std::to_string(port); }
  /// A client that trusts us, and wants to meet this host.
  test::Shaking trusting(const std::string& host = "good.test") const { return {.ca = ours.file(), .host = host}; }

  /// A client that has its 200 to a CONNECT. `lines` are more header lines of that.
  std::unique_ptr<TlsCaller> connect(const test::Shaking& how, const std::string& host = "good.test",
                                     const std::string& lines = "", const char* from = nullptr,
                                     int receive_buffer = 0) const;
  /// One that has shaken hands, too.
  std::unique_ptr<TlsCaller> open(const std::string& host = "good.test", int receive_buffer = 0) const;
  /// A request in origin-form.
  std::string request(const std::string& path, const std::string& lines = "", const std::string& method = "GET") const;
  /// The answer to one such request on a connection of its own.
  Reply fetch(const std::string& path, const std::string& lines = "") const;
  /// The events of failed handshakes, once there are so many.
  std::vector<Json> failures(std::size_t count) const;
  /// Serves the next request of this connection as any other: it is sound.
  void expect_served(TlsCaller& client) const;

  Scene scene;
  test::Authority ours;   // in whose name Penstock answers
  test::Authority roots;  // vouches for the origin
  test::TlsServer tls;
  Origin origin;
  test::NameServer names;
  Daemon daemon;
  std::uint16_t port;  // that all clients want: the origin's, at first
};

}  // namespace penstock::trial
