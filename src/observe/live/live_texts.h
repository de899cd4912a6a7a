// SPDX-License-Identifier: Apache-2.0
// What /live says each second, written once for all viewers. It remembers what it said of each upstream, and then says
// only what has changed. Used by one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "observe/live/viewer.h"
#include "penstock/config.h"
#include "penstock/snapshot.h"

namespace penstock::observe {

/// What the texts need beside a snapshot.
struct LiveFacts {
  std::shared_ptr<const Config> config;
  std::string why_not;  ///< what a viewer is told that may not see details
};

class LiveTexts {
 public:
  /// Upstreams that are shown: the busiest. How many more there are is said.
  static constexpr std::size_t kMostUpstreams = 200;
  /// Of the upstreams of one text: a viewer that stalls holds one.
  static constexpr std::size_t kMostBytes = 160 * 1024;

  /// A text for each kind of viewer that is there; null where none is.
  struct Texts {
    SharedText of(bool all, bool details) const { return places[2 * all + details]; }
    SharedText places[4];
  };
  struct Wanted {
    void add(bool all, bool details) { places[2 * all + details] = true; }
    bool places[4] = {};
  };

  Texts write(Snapshot snapshot, const LiveFacts& facts, const Wanted& wanted);

 private:
  struct Row {
    UpstreamSnapshot lasting;  // without what only time changes
    std::size_t size = 0;      // of its last text, with a comma
    std::uint64_t seen = 0;    // the number of the call that had it last
  };

  std::unordered_map<std::string, Row> rows_;
  std::uint64_t calls_ = 0;
};

/// Keeps the busiest; returns how many it left out.
std::size_t keep_busiest(std::vector<UpstreamSnapshot>& upstreams, std::size_t most);

/// `event: details`; without details: the upstream is not there.
std::string details_event(const std::string& upstream, const std::optional<UpstreamDetails>& details,
                          const std::vector<GroupSnapshot>& groups, const std::string& explain);

}  // namespace penstock::observe
