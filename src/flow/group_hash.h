// SPDX-License-Identifier: Apache-2.0
// How a group is called where its name must not be seen or would be too long: in Redis keys, and, where the name is a
// header's value, in events. SipHash-2-4 under a key made from the prefix, the upstream and `redis.secret`, so that all
// processes agree and no two upstreams' digits can be compared. Nobody can read a name back, and only who knows the
// secret can check a guess; without one everybody can, so that what people see is hashed once more, under a random key.
// Pure.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace penstock::flow {

struct SipKey {
  std::uint64_t first = 0, second = 0;
};

namespace detail {

struct SipState {
  std::uint64_t a, b, c, d;

  explicit constexpr SipState(SipKey key)
      : a(key.first ^ 0x736f6d6570736575),
        b(key.second ^ 0x646f72616e646f6d),
        c(key.first ^ 0x6c7967656e657261),
        d(key.second ^ 0x7465646279746573) {}

  constexpr void round() {
    a += b, b = std::rotl(b, 13) ^ a, a = std::rotl(a, 32);
    c += d, d = std::rotl(d, 16) ^ c;
    a += d, d = std::rotl(d, 21) ^ a;
    c += b, b = std::rotl(b, 17) ^ c, c = std::rotl(c, 32);
  }
  constexpr void take(std::uint64_t word) {
    d ^= word;
    round(), round();
    a ^= word;
  }
  constexpr std::uint64_t finish() {
    c ^= 0xff;
    round(), round(), round(), round();
    return a ^ b ^ c ^ d;
  }
};

}  // namespace detail

constexpr std::uint64_t sip_hash(SipKey key, std::string_view text) {
  detail::SipState state{key};
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    word |= std::uint64_t{static_cast<unsigned char>(text[i])} << (i % 8 * 8);
    if (i % 8 == 7) state.take(std::exchange(word, 0));
  }
  state.take(word | std::uint64_t{text.size()} << 56);
  return state.finish();
}

class GroupHash {
 public:
  using Digits = std::array<char, 16>;  ///< hexadecimal, lower case

  /// Empty `secret`: there is none, and the key is made of public names.
  GroupHash(std::string_view prefix, std::string_view upstream, std::string_view secret = {}) {
    const std::string seed = std::string(prefix) + ":{" + std::string(upstream) + "}";
    SipKey first{0, 0}, second{1, 0};
    if (!secret.empty()) {
      first = {sip_hash({2, 0}, secret), sip_hash({3, 0}, secret)};
      second = {first.first ^ 1, first.second};
    }
    key_ = {sip_hash(first, seed), sip_hash(second, seed)};
  }

  Digits operator()(std::string_view group) const { return digits_of(sip_hash(key_, group)); }

  static constexpr Digits digits_of(std::uint64_t number) {
    Digits digits;
    for (auto digit = digits.rbegin(); digit != digits.rend(); ++digit, number >>= 4)
      *digit = "0123456789abcdef"[number & 15];
    return digits;
  }

 private:
  SipKey key_;
};

}  // namespace penstock::flow
