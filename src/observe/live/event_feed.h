// SPDX-License-Identifier: Apache-2.0
// The events of a second, as /live shows them: how requests ended, at most kMost, errors and refusals first. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "penstock/event.h"

namespace penstock::observe {

class EventFeed {
 public:
  static constexpr std::size_t kMost = 20;
  static constexpr std::size_t kMostBytes = 32 * 1024;  ///< of their lines

  /// Dispatches do not count: each request ends in another event.
  void record(const Event& event);
  /// What came since the last call, in the order in which it came, as server-sent event; null: nothing did.
  struct Second {
    std::shared_ptr<const std::string> text;
    std::uint64_t count = 0;  ///< those left out included
  };
  Second take();
  /// The server-sent event that tells of so many that were left out.
  static std::string dropped(std::uint64_t count);

 private:
  std::array<std::vector<std::pair<std::uint64_t, std::string>>, 2> lines_;  // those that matter more; others
  std::size_t bytes_ = 0;
  std::uint64_t seen_ = 0;
};

}  // namespace penstock::observe
