// SPDX-License-Identifier: Apache-2.0
// See upstream_groups.h.
#include "proxy/exchange/upstream_groups.h"

#include <string_view>
#include <utility>

namespace penstock::proxy {

void UpstreamGroups::change(const Services& services, const std::string& upstream, const UpstreamSettings& settings,
                            std::shared_ptr<const BodyTerms> terms) {
  grouping_.reset();
  body_terms_ = std::move(terms);
  if (!settings.group) return;
  const auto* const redis = redis_of(services.config, settings);
  const bool by_secret = redis && !redis->secret.empty();  // which hides them well enough
  grouping_.emplace(*settings.group, group_hash(services, upstream, settings), by_secret ? nullptr : services.labels,
                    settings.redact);
}

std::string UpstreamGroups::of(const http::Target& target, const http::Fields& fields, std::string_view text,
                               const flow::Limiter& limiter, const Services& services, const std::string& upstream) {
  std::string group = ahead_of(target, fields, text, limiter);
  if (group == kOtherGroups && !std::exchange(others_told_, true)) {
    services.notices({.level = LogLevel::warn,
                      .text = upstream + " has " + std::to_string(flow::kMostGroups) +
                              " groups to remember: until some can be forgotten, all others share one queue and its "
                              "limits, " +
                              std::string(kOtherGroups)});
  }
  return group;
}

std::string UpstreamGroups::ahead_of(const http::Target& target, const http::Fields& fields, std::string_view text,
                                     const flow::Limiter& limiter) const {
  std::string room;
  const std::string_view its_name = grouping_->name(target, fields, room, text);
  return std::string(limiter.has_room_for(its_name) ? its_name : std::string_view(kOtherGroups));
}

void UpstreamGroups::label(UpstreamSnapshot& shown) const {
  if (!grouping_) return;
  if (shown.pause && !shown.pause->group.empty()) shown.pause->group = grouping_->label(shown.pause->group);
  for (GroupSnapshot& group : shown.groups) group.name = grouping_->label(group.name);
}

}  // namespace penstock::proxy
