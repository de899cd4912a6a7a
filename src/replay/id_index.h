// SPDX-License-Identifier: Apache-2.0
// Finds a request's record by the hash of its id. A table of open addresses: 12 bytes for each place, of which at least
// a third is free. Internal to replay/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace penstock::replay {

class IdIndex {
 public:
  /// The record's number; nullopt: the hash is new, and stands for `number` from now on.
  std::optional<std::uint32_t> find_or_add(std::uint64_t hash, std::uint32_t number) {
    if (hash == 0) hash = 1;  // 0 is a free place
    if (3 * (size_ + 1) > 2 * hashes_.size()) grow();
    const std::size_t place = place_of(hash);
    if (hashes_[place] == hash) return numbers_[place];
    hashes_[place] = hash;
    numbers_[place] = number;
    ++size_;
    return std::nullopt;
  }

 private:
  std::size_t place_of(std::uint64_t hash) const {
    const std::size_t mask = hashes_.size() - 1;
    std::size_t place = hash & mask;
    while (hashes_[place] != 0 && hashes_[place] != hash) place = (place + 1) & mask;
    return place;
  }
  void grow() {
    const auto hashes = std::exchange(hashes_, {});
    const auto numbers = std::exchange(numbers_, {});
    hashes_.resize(hashes.empty() ? 1024 : 2 * hashes.size());
    numbers_.resize(hashes_.size());
    for (std::size_t i = 0; i < hashes.size(); ++i) {
      if (hashes[i] == 0) continue;
      const std::size_t place = place_of(hashes[i]);
      hashes_[place] = hashes[i];
      numbers_[place] = numbers[i];
    }
  }

  std::vector<std::uint64_t> hashes_;
  std::vector<std::uint32_t> numbers_;
  std::size_t size_ = 0;
};

}  // namespace penstock::replay
