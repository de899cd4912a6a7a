// SPDX-License-Identifier: Apache-2.0
// The hash that stands for a group's name where the name must not be seen or would be too long: in Redis keys, and in
// events if the name is a header's value. SipHash-2-4 under a key made from the prefix, the upstream and
// `redis.secret`: all processes agree, and digits of two upstreams cannot be compared. A name cannot be read back, and
// a guess can be checked only with the secret. Without a secret anybody can check guesses, so what people see is hashed
// once more under a random key. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/sip_hash.h"

namespace penstock::flow {

class GroupHash {
 public:
  using Digits = std::array<char, 16>;  ///< hexadecimal, lower case

  /// With an empty `secret` the key is made of public names alone.
  GroupHash(std::string_view prefix, std::string_view upstream, std::string_view secret = {}) {
    const std::string seed = std::string(prefix) + ":{" + std::string(upstream) + "}";
    base::SipKey first{0, 0}, second{1, 0};
    if (!secret.empty()) {
      first = {base::sip_hash({2, 0}, secret), base::sip_hash({3, 0}, secret)};
      second = {first.first ^ 1, first.second};
    }
    key_ = {base::sip_hash(first, seed), base::sip_hash(second, seed)};
  }

  Digits operator()(std::string_view group) const { return digits_of(base::sip_hash(key_, group)); }

  static constexpr Digits digits_of(std::uint64_t number) {
    Digits digits;
    for (auto digit = digits.rbegin(); digit != digits.rend(); ++digit, number >>= 4)
      *digit = "0123456789abcdef"[number & 15];
    return digits;
  }

 private:
  base::SipKey key_;
};

/// What people see of a name that may be a credential: 12 digits, those that its Redis keys begin with, or others if
/// there is a `labels` key. It is needed where there is no secret.
inline std::string label_of(std::string_view digits, const base::SipKey* labels) {
  constexpr std::size_t kShown = 12;
  if (!labels) return std::string(digits.substr(0, kShown));
  const auto others = GroupHash::digits_of(base::sip_hash(*labels, digits));
  return {others.data(), kShown};
}

}  // namespace penstock::flow
