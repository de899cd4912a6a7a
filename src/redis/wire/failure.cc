// SPDX-License-Identifier: Apache-2.0
// Classifies error replies by their code, which is the first word.
#include "redis/wire/failure.h"

#include <algorithm>
#include <utility>

namespace penstock::redis {

namespace {

constexpr std::pair<std::string_view, FailureKind> kCodes[] = {
    {"LOADING", FailureKind::loading},
    {"MASTERDOWN", FailureKind::masterdown},
    {"BUSY", FailureKind::busy},
    {"MISCONF", FailureKind::misconf},
    {"OOM", FailureKind::oom},
    {"NOREPLICAS", FailureKind::noreplicas},
    {"CLUSTERDOWN", FailureKind::clusterdown},
    {"TRYAGAIN", FailureKind::tryagain},
    {"NOAUTH", FailureKind::noauth},
    {"WRONGPASS", FailureKind::noauth},
    {"NOPERM", FailureKind::noperm},
    {"READONLY", FailureKind::readonly},
    {"WRONGTYPE", FailureKind::wrongtype},
    {"NOSCRIPT", FailureKind::noscript},
    {"CORRUPT", FailureKind::corrupt},
    {"MOVED", FailureKind::unsupported},
    {"ASK", FailureKind::unsupported},
    {"CROSSSLOT", FailureKind::unsupported},
};

constexpr std::size_t kLongestText = 500;  // longer than any key of ours

}  // namespace

Failure failure_of(std::string_view error_reply) {
  const auto code = error_reply.substr(0, error_reply.find(' '));
  const auto* known = std::ranges::find(kCodes, code, [](const auto& entry) { return entry.first; });
  const auto kind = known == std::end(kCodes) ? FailureKind::error : known->second;
  if (kind == FailureKind::unsupported) return {kind, "a Redis Cluster is not supported"};
  return {kind, std::string(error_reply.substr(0, kLongestText))};
}

bool is_outage(FailureKind kind) {
  return kind != FailureKind::wrongtype && kind != FailureKind::noscript && kind != FailureKind::corrupt &&
         kind != FailureKind::error && kind != FailureKind::noperm;
}

}  // namespace penstock::redis
