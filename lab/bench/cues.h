// SPDX-License-Identifier: Apache-2.0
// The clock of the loads, and the lines by which script/bench leads them. For bench_load, bench_tls_load and
// bench_tunnels only.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace penstock::bench {

inline std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

inline std::int64_t to_ns(double seconds) { return static_cast<std::int64_t>(seconds * 1e9); }

inline void say(const std::string& line) {
  std::puts(line.c_str());
  std::fflush(stdout);
}

/// Ends the program when there is none.
inline void wait_for_a_line() {
  for (int character = 0; (character = std::getchar()) != '\n';) {
    if (character == EOF) std::exit(0);
  }
}

}  // namespace penstock::bench
