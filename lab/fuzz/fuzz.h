// SPDX-License-Identifier: Apache-2.0
// What every fuzzer has: the entry that libFuzzer calls, promises whose breach it reports, and choices that depend on
// the input alone. Each program includes it once and defines try_input().
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace penstock::fuzz {

/// One run. The same bytes must always do the same.
void try_input(std::string_view input);

/// Ends the program where a promise is broken; libFuzzer then keeps the input.
inline void must(bool holds, const char* promise, std::string_view found = {}, std::string_view besides = {}) {
  if (holds) return;
  std::fprintf(stderr, "\nBROKEN PROMISE: %s\n", promise);
  for (const auto shown : {found, besides}) {
    if (!shown.empty()) std::fprintf(stderr, "---\n%.*s\n", static_cast<int>(shown.size()), shown.data());
  }
  std::abort();
}

/// Takes choices off the front of the input, while there is any; what follows is text.
class Choices {
 public:
  explicit Choices(std::string_view input) : rest_(input) {}
  bool any() const { return !rest_.empty(); }
  std::string_view rest() const { return rest_; }
  unsigned byte() {
    if (rest_.empty()) return 0;
    const auto first = static_cast<unsigned char>(rest_.front());
    rest_.remove_prefix(1);
    return first;
  }
  unsigned below(unsigned n) { return byte() % n; }
  bool one_in(unsigned n) { return below(n) == 0; }

 private:
  std::string_view rest_;
};

/// Numbers out of the whole input, so that the input itself may be plain text.
class Dice {
 public:
  explicit Dice(std::string_view input) {
    for (const char c : input) state_ = (state_ ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  }
  std::size_t below(std::size_t n) {
    state_ = state_ * 6364136223846793005 + 1442695040888963407;
    return static_cast<std::size_t>(state_ >> 33) % n;
  }
  bool one_in(std::size_t n) { return below(n) == 0; }

 private:
  std::uint64_t state_ = 0xcbf29ce484222325;
};

/// Calls `each` with the input cut into pieces, of a byte up to a few dozen, until it returns false.
template <typename Each>
void in_pieces(std::string_view input, Each each) {
  Dice dice(input);
  const std::size_t longest = dice.one_in(4) ? 1 : 1 + dice.below(64);
  while (!input.empty()) {
    const std::string piece(input.substr(0, 1 + dice.below(longest)));  // its own memory: nobody may read behind it
    input.remove_prefix(piece.size());
    if (!each(std::string_view(piece))) return;
  }
}

}  // namespace penstock::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  penstock::fuzz::try_input({reinterpret_cast<const char*>(bytes), size});
  return 0;
}
