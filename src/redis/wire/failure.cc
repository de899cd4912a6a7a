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
    {"MOVED", FailureKind::moved},
    {"ASK", FailureKind::moved},
    {"CROSSSLOT", FailureKind::unsupported},
};

/// Where Redis' own words do not say what to do.
Advice advice_for(std::string_view code) {
  if (code == "NOAUTH") return Advice::log_in;
  if (code == "WRONGPASS") return Advice::see_login;
  if (code == "READONLY" || code == "MASTERDOWN") return Advice::replica;
  if (code == "CLUSTERDOWN") return Advice::check_cluster;
  return Advice::none;
}

constexpr std::string_view kUnserved = "CLUSTERDOWN Hash slot";  // not served; what else is down concerns all slots
constexpr std::size_t kLongestText = 500;                        // longer than any key of ours

}  // namespace

Failure failure_of(std::string_view error_reply) {
  const auto code = error_reply.substr(0, error_reply.find(' '));
  const auto* known = std::ranges::find(kCodes, code, [](const auto& entry) { return entry.first; });
  const auto kind = known == std::end(kCodes) ? FailureKind::error : known->second;
  if (error_reply.starts_with(kUnserved))
    return {FailureKind::unserved, std::string(error_reply.substr(0, kLongestText))};
  if (kind == FailureKind::unsupported) return failure_of_cluster();
  return {kind, std::string(error_reply.substr(0, kLongestText)), advice_for(code)};
}

bool is_outage(FailureKind kind) {
  return kind != FailureKind::wrongtype && kind != FailureKind::noscript && kind != FailureKind::corrupt &&
         kind != FailureKind::error && kind != FailureKind::noperm && !is_of_one_slot(kind);
}

}  // namespace penstock::redis
