// SPDX-License-Identifier: Apache-2.0
// Why a call to Redis brought no answer: a kind, for metrics and for what to do, and words for people. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace penstock::redis {

enum class FailureKind : std::uint8_t {
  unreachable,  ///< no name, no connection
  timeout,      ///< no answer in time
  lost,         ///< the connection ended with the call under way; it may have been executed
  protocol,     ///< bytes that are no answer, or too many of them
  unsupported,  ///< a Sentinel, or a cluster
  // Error replies.
  loading,
  masterdown,
  busy,
  misconf,
  oom,
  noreplicas,
  clusterdown,
  tryagain,
  noauth,
  noperm,
  readonly,
  wrongtype,
  noscript,
  corrupt,  ///< what our own scripts say of a value that they do not know
  error,    ///< any other
};

inline constexpr std::array<std::string_view, 20> kFailureLabels{
    "unreachable", "timeout",  "lost",      "protocol",   "unsupported", "loading",  "masterdown",
    "busy",        "misconf",  "oom",       "noreplicas", "clusterdown", "tryagain", "noauth",
    "noperm",      "readonly", "wrongtype", "noscript",   "corrupt",     "error"};
static_assert(kFailureLabels.size() == static_cast<std::size_t>(FailureKind::error) + 1);

/// For the label `kind` of metrics.
constexpr std::string_view label(FailureKind kind) { return kFailureLabels[static_cast<std::size_t>(kind)]; }

struct Failure {
  FailureKind kind = FailureKind::error;
  std::string text;
};

/// What an error reply means.
Failure failure_of(std::string_view error_reply);

/// Whether it is Redis that does not work, and not this one call: further calls would fare no better. What a user may
/// not do is found out by the self-test.
bool is_outage(FailureKind kind);

}  // namespace penstock::redis
