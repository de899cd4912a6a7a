// SPDX-License-Identifier: Apache-2.0
// See ways.h.
#include "system/ways.h"

#include <unistd.h>

#include <utility>

namespace penstock::trial {

namespace {
bool is_over_tls(Way way) { return way == Way::tls || way == Way::upgrade_over_tls || way == Way::intercept; }
bool is_upgrade(Way way) { return way == Way::upgrade || way == Way::upgrade_over_tls; }

test::Origin::Script played(WayStage::Script script, test::Wrap wrap) {
  return [script = std::move(script), wrap = std::move(wrap)](auto&, auto& peer, int) {
    Socket socket(::dup(peer.fd()));
    if (!wrap || socket.put_on(wrap)) script(socket);
  };
}
}  // namespace

std::string name_of(Way way) {
  constexpr std::array kNames{"plain", "tls", "upgrade", "upgrade_over_tls", "tunnel", "intercept", "gateway"};
  return kNames[static_cast<std::size_t>(way)];
}

WayStage::WayStage(Way way, Script script)
    : way_(way),
      tls_(roots_.issue()),
      upstream_(played(std::move(script), is_over_tls(way) ? tls_.wrap() : test::Wrap())),
      host_("localhost:" + std::to_string(upstream_.port())),
      daemon(given()) {}

std::string WayStage::yaml() {
  const std::string keys = way_ == Way::gateway     ? ", baseUrl: 'http://" + host_ + "'"
                           : way_ == Way::intercept ? std::string(", https: intercept")
                                                    : std::string();
  const std::string authority =
      way_ == Way::intercept ? "intercept: { ca: " + ours_.file() + ", key: " + ours_.key_file() + " }\n" : "";
  return "access: { connectPorts: [" + std::to_string(upstream_.port()) + "] }\nupstreams: { far: { match: localhost" +
         keys + " } }\n" + authority;
}

Given WayStage::given() {
  Given given{.yaml = yaml()};
  given.environment["SSL_CERT_FILE"] = roots_.file();
  return given;
}

std::unique_ptr<TlsCaller> WayStage::client() {
  constexpr int kRoom = 4096;
  // Each from an address of its own: one that leaves again and again behind its handshake is kept waiting.
  const std::string from = "127.0.1." + std::to_string(++clients_);
  const test::Shaking how{.ca = ours_.file(), .host = "localhost"};
  auto caller = std::make_unique<TlsCaller>(daemon.port(), how, from.c_str(), kRoom);
  if (way_ != Way::tunnel && way_ != Way::intercept) return caller;
  caller->send("CONNECT " + host_ + " HTTP/1.1\r\nHost: " + host_ + "\r\n\r\n");
  EXPECT_EQ(caller->head().status, 200);
  if (way_ == Way::intercept) {
    EXPECT_TRUE(caller->shake());
  }
  return caller;
}

std::string WayStage::head(const std::string& method) const {
  const bool is_gateway = way_ == Way::gateway, is_inside = way_ == Way::tunnel || way_ == Way::intercept;
  const std::string scheme = is_over_tls(way_) ? "https://" : "http://";
  const std::string target = is_gateway ? "/@far/" : is_inside ? "/" : scheme + host_ + "/";
  return method + " " + target + " HTTP/1.1\r\nHost: " + (is_gateway ? daemon.host() : host_) + "\r\n" +
         (is_upgrade(way_) ? "Connection: upgrade\r\nUpgrade: websocket\r\n" : "");
}

}  // namespace penstock::trial
