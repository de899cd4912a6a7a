// SPDX-License-Identifier: Apache-2.0
// What the requests of one command came to, for each upstream: the lines that `exec` ends with.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "penstock/event.h"

namespace penstock::app {

/// Events may come from another thread than the calls for text, but not at the same time.
class ExecSummary {
 public:
  void add(const Event& event);

  /// A line for each upstream: `412 requests to api.github.com · 97 waited (median 0.4 s, longest 3.1 s, for
  /// slidingWindow) · 0 × 429`. Empty: there was no request.
  std::string text() const;
  /// The same as one line of JSON, with all limits that were waited for. Times are in seconds.
  std::string json() const;

 private:
  struct Upstream {
    std::uint64_t requests = 0, refused_429 = 0;
    std::vector<Duration> waits;  // of requests that a limit or a slot made wait
    std::map<std::string, std::uint64_t, std::less<>> waited_for;

    Duration median() const;
    Duration longest() const;
    std::string line(const std::string& name) const;
  };

  std::map<std::string, Upstream, std::less<>> upstreams_;
};

}  // namespace penstock::app
