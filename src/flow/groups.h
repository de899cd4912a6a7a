// SPDX-License-Identifier: Apache-2.0
// A map from group names to what is kept for each group. Entries are forgotten little by little, so that no call takes
// long however many groups there are. Internal to flow/.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text_map.h"

namespace penstock::flow {

template <typename Kept>
class Groups {
 public:
  /// Up to this many groups, sweep() does nothing.
  static constexpr std::size_t kFew = 256;

  std::size_t size() const { return size_; }
  Kept* find(std::string_view name) {
    if (size_ == 0) return nullptr;
    Shard& shard = shard_of(name);
    const auto found = shard.find(name);
    return found == shard.end() ? nullptr : &found->second;
  }
  const Kept* find(std::string_view name) const { return const_cast<Groups*>(this)->find(name); }
  /// `name` must not be known.
  Kept& add(std::string_view name, Kept kept) {
    shards_.resize(kShards);
    ++size_;
    return shard_of(name).emplace(name, std::move(kept)).first->second;
  }
  /// Calls use(name, kept) for each group.
  template <typename Use>
  void each(Use use) const {
    for (const Shard& shard : shards_) {
      for (const auto& [name, kept] : shard) use(std::string_view(name), kept);
    }
  }

  template <typename Use>
  void each(Use use) {
    for (Shard& shard : shards_) {
      for (auto& [name, kept] : shard) use(std::string_view(name), kept);
    }
  }

  template <typename Is>
  bool all_of(Is is) const {
    const auto are = [&](const Shard& shard) {
      return std::ranges::all_of(shard, [&](const auto& one) { return is(one.second); });
    };
    return std::ranges::all_of(shards_, are);
  }

  /// Looks at the few groups that were not looked at for longest, and forgets those that may be forgotten. If called at
  /// every look-up, it keeps the forgettable groups fewer than the others.
  template <typename MayForget>
  void sweep(MayForget may_forget) {
    for (std::size_t buckets = kBucketsASweep; buckets > 0 && size_ > kFew; --buckets) {
      sweep_bucket(may_forget);
      next_bucket();
    }
  }

 private:
  using Shard = base::TextMap<Kept>;
  static constexpr std::size_t kShards = 64;  // shards grow one at a time: of a million groups, 16 000 are rehashed
  static constexpr std::size_t kBucketsASweep = 4;
  static constexpr std::size_t kEmptyEnough = 4;  // buckets a group from which a shard shrinks: rounds get short again

  Shard& shard_of(std::string_view name) { return shards_[(base::TextHash()(name) >> 48) % kShards]; }

  template <typename MayForget>
  void sweep_bucket(MayForget may_forget) {
    Shard& shard = shards_[shard_];
    if (bucket_ >= shard.bucket_count()) return;
    for (auto kept = shard.begin(bucket_); kept != shard.end(bucket_);) {
      const auto here = kept++;
      if (may_forget(here->second)) shard.erase(shard.find(here->first)), --size_;
    }
  }
  void next_bucket() {
    Shard& shard = shards_[shard_];
    if (++bucket_ < shard.bucket_count()) return;
    if (kEmptyEnough * shard.size() < shard.bucket_count()) shard.rehash(2 * shard.size());
    bucket_ = 0;
    shard_ = (shard_ + 1) % kShards;
  }

  std::vector<Shard> shards_;  // empty before the first group
  std::size_t size_ = 0;
  std::size_t shard_ = 0;  // where the next sweep goes on, with bucket_
  std::size_t bucket_ = 0;
};

}  // namespace penstock::flow
