// SPDX-License-Identifier: Apache-2.0
// What the tests start from: settings for a proxy on free ports, someone who writes down its events, and requests
// whose answers can be waited for.
#pragma once

#include <penstock/proxy.h>

#include <chrono>
#include <condition_variable>
#include <expected>
#include <functional>
#include <future>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "support/sockets.h"

namespace embedding {

/// Long enough for a sanitized build on a busy machine; a test that meets it has failed.
inline constexpr std::chrono::seconds kPatience{20};

/// Free ports, no event file.
penstock::Config quiet();
/// The same with one upstream named `origin`, everything on loopback, so many at once and so many waiting.
penstock::Config narrow(int max_concurrent, std::size_t max_pending = 1000);

using Answer = std::expected<penstock::Response, penstock::Error>;
using FutureAnswer = std::future<Answer>;
FutureAnswer submit(penstock::Proxy& proxy, penstock::Request request);
/// Nothing where it did not come in time.
std::optional<Answer> wait_for(FutureAnswer& answer);

std::string field(const penstock::Response& response, std::string_view name);

/// A client's connection to a proxy, whose url() this is; throws where nobody listens.
penstock::test::Socket connect(std::string_view url);
/// One GET in absolute form, the connection closed after it; gives the whole answer.
std::string get(std::string_view proxy, std::string_view url);

/// PendingAsks until it holds; false once patience is over.
bool eventually(const std::function<bool()>& condition);

/// An event, kept.
struct Told {
  penstock::EventKind kind{};
  penstock::Outcome outcome{};
  std::string id, upstream, path, refusal;
  std::int64_t at = 0;
  int status = 0, attempts = 0;
  std::size_t pending = 0, in_flight = 0;
  std::thread::id thread;
};

/// Must outlive the proxies that it observes.
class Observer {
 public:
  void observe(penstock::Proxy& proxy);
  std::vector<Told> all() const;
  std::size_t count(penstock::EventKind kind) const;
  /// False where so many of that kind did not come in time.
  bool wait_for(penstock::EventKind kind, std::size_t how_many = 1);

 private:
  mutable std::mutex mutex_;
  std::condition_variable more_;
  std::vector<Told> told_;
};

}  // namespace embedding
