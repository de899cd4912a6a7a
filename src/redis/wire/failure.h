// SPDX-License-Identifier: Apache-2.0
// Why a call to Redis brought no answer: a kind, for metrics and for deciding what to do, and a text for people. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace penstock::redis {

enum class FailureKind : std::uint8_t {
  unreachable,  ///< name not found, or no connection
  timeout,      ///< no answer in time
  lost,         ///< the connection ended with the call under way; it may have been executed
  protocol,     ///< bytes that are not a reply, or too many of them
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
  corrupt,  ///< our own scripts met a value that they did not write
  error,    ///< any other error reply
};

inline constexpr std::array<std::string_view, 20> kFailureLabels{
    "unreachable", "timeout",  "lost",      "protocol",   "unsupported", "loading",  "masterdown",
    "busy",        "misconf",  "oom",       "noreplicas", "clusterdown", "tryagain", "noauth",
    "noperm",      "readonly", "wrongtype", "noscript",   "corrupt",     "error"};
static_assert(kFailureLabels.size() == static_cast<std::size_t>(FailureKind::error) + 1);

/// The value of the label `kind` of metrics.
constexpr std::string_view label(FailureKind kind) { return kFailureLabels[static_cast<std::size_t>(kind)]; }

struct Failure {
  FailureKind kind = FailureKind::error;
  std::string text;
};

/// Classifies an error reply.
Failure failure_of(std::string_view error_reply);

/// True if Redis as a whole does not work, so that further calls would fail as well; false if only this call failed.
/// What the user may not do is found out by the self-test.
bool is_outage(FailureKind kind);

}  // namespace penstock::redis
