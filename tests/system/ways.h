// SPDX-License-Identifier: Apache-2.0
// Every way through Penstock to one upstream, for the tests of hostile peers, which must not delay others by any of
// them.
#pragma once

#include <array>
#include <memory>
#include <string>

#include "support/origin.h"
#include "support/tls_server.h"
#include "system/intercepted.h"

namespace penstock::trial {

enum class Way { plain, tls, upgrade, upgrade_over_tls, tunnel, intercept, gateway };
inline constexpr std::array kWays{Way::plain,  Way::tls,       Way::upgrade, Way::upgrade_over_tls,
                                  Way::tunnel, Way::intercept, Way::gateway};
std::string name_of(Way way);

/// Penstock, an upstream that plays a script, and clients that go one way.
class WayStage {
 public:
  /// What the upstream does with each connection, which speaks TLS where the way has it there.
  using Script = std::function<void(Socket& peer)>;
  WayStage(Way way, Script script);
  WayStage(const WayStage&) = delete;

  /// One that reads little at a time. Where the way begins with a CONNECT, it has its 200, and TLS where that is
  /// inside.
  std::unique_ptr<TlsCaller> client();
  /// `GET target HTTP/1.1` with what this way needs, but for the empty line.
  std::string head(const std::string& method = "GET") const;

 private:
  std::string yaml();
  Given given();

  const Way way_;
  test::Authority ours_, roots_;
  test::TlsServer tls_;
  test::Origin upstream_;
  const std::string host_;
  int clients_ = 0;

 public:
  const Daemon daemon;
};

}  // namespace penstock::trial
