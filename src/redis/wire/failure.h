// SPDX-License-Identifier: Apache-2.0
// Why a call to Redis brought no answer: a kind, for metrics and for deciding what to do, and a text for notices. Pure.
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
  unsupported,  ///< a Sentinel, or a cluster, where none is expected
  // Error replies.
  loading,
  masterdown,
  busy,
  misconf,
  oom,
  noreplicas,
  clusterdown,  ///< a node of a cluster is cut off from the others, or the whole cluster has stopped
  unserved,     ///< no node of the cluster has the slot
  tryagain,
  moved,  ///< MOVED or ASK: another node of the cluster has the key
  noauth,
  noperm,
  readonly,
  wrongtype,
  noscript,
  corrupt,  ///< our own scripts met a value that they did not write
  error,    ///< any other error reply
};

inline constexpr std::array<std::string_view, 22> kFailureLabels{
    "unreachable", "timeout",  "lost",       "protocol",    "unsupported", "loading",  "masterdown", "busy",
    "misconf",     "oom",      "noreplicas", "clusterdown", "unserved",    "tryagain", "moved",      "noauth",
    "noperm",      "readonly", "wrongtype",  "noscript",    "corrupt",     "error"};
static_assert(kFailureLabels.size() == static_cast<std::size_t>(FailureKind::error) + 1);

/// The value of the label `kind` of metrics.
constexpr std::string_view label(FailureKind kind) { return kFailureLabels[static_cast<std::size_t>(kind)]; }

/// What people can do about a failure. advice.h has the words, which name keys of the configuration.
enum class Advice : std::uint8_t {
  none,
  log_in,         ///< a user and password are missing
  see_login,      ///< they are wrong
  reach,          ///< the address does not answer, for no fault of TLS
  no_tls,         ///< it may speak no TLS
  tls,            ///< it speaks TLS
  reset,          ///< it may speak TLS, or want a certificate
  cluster,        ///< it is a node of a cluster
  no_cluster,     ///< it is none
  check_cluster,  ///< it is cut off from the others, or a slot has no node
  sentinel,       ///< it is a Sentinel
  no_sentinel,    ///< it is none
  replica,        ///< it is a replica
};

struct Failure {
  FailureKind kind = FailureKind::error;
  std::string text;
  Advice advice{};      ///< not in the text yet
  bool of_tls = false;  ///< the TLS handshake has failed, perhaps by a certificate
  std::string cause{};  ///< the text without the host, where any of several may have been asked; empty: the text
};

inline const std::string& cause_of(const Failure& why) { return why.cause.empty() ? why.text : why.cause; }

/// Of a Redis that turns out to be a node of a cluster.
inline constexpr std::string_view kIsCluster = "it is a Redis Cluster";
inline Failure failure_of_cluster() { return {FailureKind::unsupported, std::string(kIsCluster), Advice::cluster}; }

/// Classifies an error reply.
Failure failure_of(std::string_view error_reply);

/// A Redis that is merely started again brings it about as well: nothing more is known than that it is away.
inline bool is_of_restart(const Failure& why) {
  const bool by_kind = why.kind == FailureKind::unreachable || why.kind == FailureKind::timeout ||
                       why.kind == FailureKind::lost || why.kind == FailureKind::loading;
  return by_kind && !why.of_tls;
}

/// A node of a cluster does not answer for this key, or not now; it may answer for others.
inline bool is_of_one_slot(FailureKind kind) {
  return kind == FailureKind::moved || kind == FailureKind::tryagain || kind == FailureKind::unserved;
}

/// True if Redis as a whole does not work, so that further calls would fail as well; false if only this call failed.
/// What the user may not do is found out by the self-test.
bool is_outage(FailureKind kind);

}  // namespace penstock::redis
