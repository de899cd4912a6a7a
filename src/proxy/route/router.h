// SPDX-License-Identifier: Apache-2.0
// Which entry of the configuration a target belongs to, and why. Knows only patterns: neither the entry's limits nor
// whether the address may be dialled. Pure; route() allocates nothing.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/text_map.h"
#include "http/target.h"
#include "penstock/config.h"

namespace penstock::proxy {

struct Route {
  std::size_t entry = 0;           ///< 0: the pattern "*"; n: the n-th of Config::upstreams, from 1
  const Match* pattern = nullptr;  ///< the winning pattern, owned by the router; null: no entry matches
  bool denied = false;             ///< no entry matches, and `unmatched` is deny
};

class Router {
 public:
  explicit Router(const Config& config);

  Route route(const http::Target& target) const;

  /// The entry with `https: intercept` for a tunnel's host and port: the entry that the tunnel belongs to, or a
  /// stronger one with a path, which a tunnel does not show. 0: none.
  std::size_t intercepting_entry(const http::Target& tunnel) const;

  /// Every entry whose pattern matches, in order of precedence, the winner first. For `penstock explain`.
  std::vector<Route> candidates(const http::Target& target) const;

 private:
  struct Rule {
    Match match;
    std::size_t entry;
    bool intercepted;
  };
  /// The rules of one host or suffix, in order of precedence.
  using Rules = base::TextMap<std::vector<Rule>>;

  /// Calls `each` with the matching rules, the strongest first, until it returns false.
  template <typename Fits, typename Each>
  void visit(const http::Target& target, Fits fit, Each each) const;

  Rules hosts_, suffixes_;
  bool pass_unmatched_;
  bool intercepts_ = false;  // any rule intercepts
};

/// Why a pattern matches, and how strongly: "exact host, port 8080, path below /v1".
std::string why(const Match& pattern);

}  // namespace penstock::proxy
