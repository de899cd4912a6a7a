// SPDX-License-Identifier: Apache-2.0
// The routes of one upstream: what holds for some of its requests beside what holds for all. Knows what a request asks
// for and the settings, not how limits stand. Pure; terms_of() allocates nothing.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/path_pattern.h"
#include "http/fields.h"
#include "penstock/config.h"

namespace penstock::proxy {

/// What the routes that fit a request say of it. Valid as long as the Routes; null: what the upstream's settings say.
struct RouteTerms {
  std::string_view limits;  ///< the route whose limits it counts in, as its queue calls that; empty: none
  bool holds = false;       ///< not all of these are in shadow mode: it waits in that route's lane
  std::string_view name;    ///< for people: that one, or else the first that fits; empty: none fits
  int weight = 1;           ///< at least; 1 unless a route says more
  const Duration* max_wait = nullptr;
  const TimeoutConfig* timeouts = nullptr;
  const RetryConfig* retry = nullptr;
  const Obey* obey = nullptr;
};

class Routes;

/// The same of one request, by the routes that were in force when it came.
struct TakenRoute : RouteTerms {
  std::shared_ptr<const Routes> routes;  ///< kept alive when they are no longer in force
};

class Routes {
 public:
  /// `prefix`: what the names of its routes begin with in its queue.
  explicit Routes(const UpstreamSettings& settings, std::string_view prefix = {});

  /// `path` has no query.
  RouteTerms terms_of(std::string_view method, std::string_view path, const http::Fields& fields) const;
  /// Whether a route fits, but for the header that it may ask for. For `penstock explain`.
  bool fits_but_for_header(std::size_t index, std::string_view method, std::string_view path) const;

 private:
  struct Entry {
    RouteConfig config;
    base::PathPattern path;
    std::string name_in_queue;
    bool has_limits = false, holds = false;
  };
  static bool fits(const Entry& entry, std::string_view method, std::string_view path);
  static void add(const Entry& entry, RouteTerms& terms);

  std::vector<Entry> entries_;
};

/// Null where the upstream has none.
std::shared_ptr<const Routes> routes_of(const UpstreamSettings& settings, std::string_view prefix = {});

/// The longest that any request of the upstream may wait.
Duration longest_wait(const UpstreamSettings& settings);

}  // namespace penstock::proxy
