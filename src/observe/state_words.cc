// SPDX-License-Identifier: Apache-2.0
// See state_words.h.
#include "observe/state_words.h"

#include <chrono>
#include <cstdio>

namespace penstock::observe {

using namespace std::chrono_literals;

std::string rounded(Duration duration) {
  const double seconds = std::chrono::duration<double>(duration).count();
  char text[32];
  const bool small = duration < 100ms;
  std::snprintf(text, sizeof text,
                small             ? "%.0f ms"
                : duration < 1min ? "%.1f s"
                                  : "%.0f s",
                small ? 1000 * seconds : seconds);
  return text;
}

std::string state_in_words(const UpstreamSnapshot& upstream) {
  if (upstream.unreachable) {
    return upstream.next_try > Duration{0} ? "UNREACHABLE; next try in " + rounded(upstream.next_try)
                                           : "UNREACHABLE; one request at a time tries";
  }
  if (!upstream.pause) return "";
  const PauseSnapshot& pause = *upstream.pause;
  const std::string by = pause.status == 0 ? "" : " (" + std::to_string(pause.status) + ")";
  const std::string what = pause.of_all ? "PAUSED" : "partly PAUSED";
  return what + " by the API" + by + " for " + rounded(pause.left) + "; then one probe";
}

std::string again_in_words(std::uint64_t repeats) {
  if (repeats == 0) return "";
  return repeats == 1 ? "asked again once" : "asked again " + std::to_string(repeats) + " times";
}

}  // namespace penstock::observe
