// SPDX-License-Identifier: Apache-2.0
// When a request would leave that came now: Proxy::ahead() says it, and spends nothing.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "penstock/duration.h"
#include "penstock/message.h"

namespace penstock {

/// The request that is asked about; the same as it would be at the proxy.
struct AheadQuery {
  /// http[s]://host[:port]/path?query, or /@NAME and a path for a gateway or a permit. A https URL is that of a tunnel,
  /// unless the upstream intercepts.
  std::string url;
  std::string method = "GET";  ///< decides the route
  int weight = 1;              ///< as Penstock-Weight: 1 to 1 000 000; a route may have more
  int cost = 1;                ///< what it is estimated to cost, where limits count that
  std::vector<Field> fields;   ///< that a route or `group` looks at
};

/// Its departure, if no other request comes, those in flight last as long as the mean of the last minute, and other
/// processes that share limits go on as they do.
struct Ahead {
  std::string upstream;          ///< its name, or host:port
  std::string route;             ///< as in Event; empty: none
  bool permit = false;           ///< it asks for a permit
  std::optional<Duration> wait;  ///< how long it would wait; nullopt: it is not known
  std::string limited_by;        ///< what for, as in Event; empty: for nothing, or it is not known
  /// One line: as it would be told when the queue is full, when it had waited for as long as it may, or by a limit in
  /// refuse mode. Then `wait` is when it would find a place. Empty: it would leave.
  std::string refused;
  std::size_t pending = 0;  ///< requests that wait at the upstream
};

/// Why there is no answer: what the request itself would be told.
struct AheadRefusal {
  int status = 0;       ///< that it would get: 400, 403, 404, 429, 503, …; 0: the proxy does not run
  std::string message;  ///< one line, no trailing full stop
};

}  // namespace penstock
