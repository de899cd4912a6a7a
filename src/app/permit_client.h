// SPDX-License-Identifier: Apache-2.0
// Asks a running Penstock for a permit, over a plain socket. For `penstock permit`.
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "base/unique_fd.h"

namespace penstock::app {

/// Where a Penstock is reached.
struct ProxyAddress {
  std::string host, port;
  std::string credentials;  ///< of `Proxy-Authorization: Basic`, encoded; empty: none
};
/// Reads http://[user:password@]host[:port]; without a port it is 3128. nullopt: it is no such URL.
std::optional<ProxyAddress> parse_proxy(std::string_view url);

struct PermitAsk {
  std::string upstream;
  std::string weight, max_wait, group;  ///< values of the fields; empty: there is no such field
};

struct NoPermit {
  std::string why;         ///< a sentence for people
  bool may_retry = false;  ///< later: it was refused because others have what there is, or there was no answer in time
};

/// Blocks until the permit is granted or refused; with a longest wait, for that and a few seconds more. It is held as
/// long as any process has the socket, which programs that this one starts inherit, as a descriptor above 2. Shutting
/// the socket down returns it.
std::expected<base::UniqueFd, NoPermit> ask_for_permit(const ProxyAddress& proxy, const PermitAsk& ask);

}  // namespace penstock::app
