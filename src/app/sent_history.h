// SPDX-License-Identifier: Apache-2.0
// How many requests left for each upstream in each five seconds, of the last five minutes: what the page draws.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "base/text_map.h"

namespace penstock::app {

class SentHistory {
 public:
  static constexpr std::int64_t kSlice = 5'000'000;  ///< µs
  static constexpr std::size_t kMostSlices = 60;

  /// A request left at `wall`, µs since 1970. A clock that is set back adds to the latest slice.
  void add(std::string_view upstream, std::int64_t wall) {
    auto found = all_.find(upstream);
    if (found == all_.end()) found = all_.emplace(upstream, Sent{}).first;
    first_ = first_ == 0 ? wall / kSlice : first_;
    found->second.reach(wall / kSlice);
    ++found->second.slices.back();
  }

  /// Up to the slice of `wall`, from the first request of all on: so those of all upstreams end and begin at the same
  /// time.
  std::vector<std::uint64_t> of(std::string_view upstream, std::int64_t wall) const {
    const std::int64_t last = std::max(wall / kSlice, first_);
    const auto length = std::min<std::size_t>(static_cast<std::size_t>(last - first_) + 1, kMostSlices);
    std::vector<std::uint64_t> slices(length);
    const auto found = all_.find(upstream);
    if (found == all_.end()) return slices;
    auto number = found->second.last;
    for (auto sent = found->second.slices.rbegin(); sent != found->second.slices.rend(); ++sent, --number) {
      const std::int64_t back = std::max<std::int64_t>(last - number, 0);
      if (back < static_cast<std::int64_t>(length)) slices[length - 1 - static_cast<std::size_t>(back)] += *sent;
    }
    return slices;
  }

 private:
  struct Sent {
    std::int64_t last = 0;             // the number of the latest slice
    std::deque<std::uint64_t> slices;  // the latest one last

    void reach(std::int64_t number) {
      if (slices.empty() || number - last >= static_cast<std::int64_t>(kMostSlices)) slices.assign(1, 0), last = number;
      for (; last < number; ++last) slices.push_back(0);
      while (slices.size() > kMostSlices) slices.pop_front();
    }
  };

  base::TextMap<Sent> all_;
  std::int64_t first_ = 0;  // slice; 0: nothing was sent
};

}  // namespace penstock::app
