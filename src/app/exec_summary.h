// SPDX-License-Identifier: Apache-2.0
// What the requests of one command came to, for each upstream: the lines that `exec` ends with.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/event.h"

namespace penstock::app {

/// A long run does not make it grow: of each upstream it keeps 100 000 waits, and of upstreams 1 000; the others are
/// summed up as `others`. Events may come from another thread than the calls for text, but not at the same time.
class ExecSummary {
 public:
  void add(const Event& event);

  /// A line for each upstream: `412 requests to api.github.com · 97 waited (median 0.4 s, longest 3.1 s, for
  /// slidingWindow) · 0 × 429`. Empty: there was no request.
  std::string text() const;
  /// A line for each upstream to which requests failed in Penstock's own hands, with the last reason. Empty: none did.
  std::string failures() const;
  /// The same as one line of JSON, with all limits that were waited for. Times are in seconds.
  std::string json() const;

 private:
  static constexpr std::size_t kMostWaits = 100'000, kMostUpstreams = 1'000;

  struct Upstream {
    std::uint64_t requests = 0, refused_429 = 0;
    std::uint64_t again = 0;    // how often they were sent again
    std::uint64_t tunnels = 0;  // of the requests: what is inside is not seen
    std::uint64_t failed = 0;   // refused by Penstock, or not answered by the upstream
    std::string why;            // the last of these
    std::uint64_t waited = 0;   // because of a limit or a slot
    Duration longest{0};
    std::vector<Duration> waits;  // the first kMostWaits of these, for the median
    std::map<std::string, std::uint64_t, std::less<>> waited_for;

    void waits_for(std::string_view limit, Duration wait);
    void fails(std::string_view detail);
    std::string what() const;
    std::string answers() const;
    Duration median() const;
    std::string line(const std::string& name) const;
  };

  Upstream& upstream_of(std::string_view name);

  std::map<std::string, Upstream, std::less<>> upstreams_;
};

}  // namespace penstock::app
