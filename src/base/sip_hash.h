// SPDX-License-Identifier: Apache-2.0
// SipHash-2-4 by Jean-Philippe Aumasson and Daniel J. Bernstein: a keyed hash of short texts. Without the key, hash
// values cannot be predicted, and collisions cannot be found.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

namespace penstock::base {

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

}  // namespace penstock::base
