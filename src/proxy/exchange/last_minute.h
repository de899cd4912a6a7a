// SPDX-License-Identifier: Apache-2.0
// What happened at an upstream in the last minute, in twelve slices of five seconds, so that it tells of 55 to 60 s.
// A slice costs 160 B when it is first needed, and 8 B for each bucket that is used: a host that is asked once a minute
// takes 240 B, one that is asked each second 3.4 kB, ten times a second 6 kB. Slices are used again with the memory
// that they have: what is recorded every minute allocates nothing.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "flow/limit.h"
#include "penstock/event.h"
#include "penstock/snapshot.h"

namespace penstock::proxy {

/// How often each of a few keys was counted. To find one takes the logarithm of their number, of buckets at most 10
/// steps.
template <typename Key>
class Tally {
 public:
  void add(const Key& key, std::uint32_t times = 1) {
    const auto known = std::ranges::lower_bound(counts_, key, {}, &Count::first);
    if (known != counts_.end() && known->first == key) return void(known->second += times);
    counts_.insert(known, {key, times});
  }
  void add(const Tally& other) {
    for (const auto& [key, times] : other.counts_) add(key, times);
  }
  void clear() { counts_.clear(); }
  /// Ascending.
  const auto& counts() const { return counts_; }

 private:
  using Count = std::pair<Key, std::uint32_t>;
  std::vector<Count> counts_;
};

/// Durations by buckets: exact below 16 µs; above that each power of two has 16 buckets, whose middle is at most 3.2 %
/// from what is in them.
class Durations {
 public:
  void add(flow::Time duration) {
    duration = std::max<flow::Time>(duration, 0);
    buckets_.add(bucket_of(duration));
    max_ = std::max(max_, duration);
  }
  void add(const Durations& other) { buckets_.add(other.buckets_), max_ = std::max(max_, other.max_); }
  void clear() { buckets_.clear(), max_ = 0; }
  Percentiles percentiles() const;

 private:
  static std::uint16_t bucket_of(flow::Time duration);
  static flow::Time middle_of(std::uint16_t bucket);
  flow::Time at_rank(std::uint64_t rank) const;

  Tally<std::uint16_t> buckets_;
  flow::Time max_ = 0;
};

class LastMinuteCounts {
 public:
  /// Any event of the upstream, as it is emitted.
  void record(const Event& event);
  LastMinute at(flow::Time now) const;

 private:
  static constexpr flow::Time kSlice = 5'000'000;
  struct Slice {
    std::int64_t number = 0;  // slices since the clock's zero
    std::uint64_t out = 0;
    std::uint64_t upstream_429 = 0;
    Tally<std::uint16_t> statuses;
    Tally<std::string_view> refused;  // kinds, which are constants
    Durations wait, flight;
    void clear();
  };
  Slice& slice(flow::Time now);

  std::array<std::unique_ptr<Slice>, 12> slices_;
};

}  // namespace penstock::proxy
