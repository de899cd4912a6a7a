// SPDX-License-Identifier: Apache-2.0
// See grouping.h.
#include "proxy/route/grouping.h"

#include "http/redaction.h"

namespace penstock::proxy {

namespace {

std::string_view text_of(const flow::GroupHash::Digits& digits) { return {digits.data(), digits.size()}; }

}  // namespace

Grouping::Grouping(const GroupRule& rule, flow::GroupHash hash, const base::SipKey* labels,
                   std::span<const std::string> secret)
    : by_(rule.by),
      header_(rule.by == GroupRule::By::header ? rule.pattern : ""),
      pattern_(rule.by == GroupRule::By::path ? std::string_view(rule.pattern) : std::string_view()),
      hash_(hash),
      labels_(labels),
      secret_(secret) {}

std::string_view Grouping::name(const http::Target& target, const http::Fields& fields, std::string& room,
                                std::string_view text) const {
  room.clear();
  switch (by_) {
    case GroupRule::By::path:
      return shortened(secret_.empty() ? by_path(target.path(), room) : by_secret_path(target.path(), room), room);
    case GroupRule::By::header: return shortened(target.tunnel ? "" : fields.find(header_).value_or(""), room);
    case GroupRule::By::json: return shortened(text, room);
    case GroupRule::By::host: return shortened(target.host, room);
  }
  return kNoGroup;
}

std::string_view Grouping::by_path(std::string_view path, std::string& room) const {
  std::string_view only;
  const bool several = pattern_.named() > 1;
  const bool fits = pattern_.visit(path, [&](std::string_view part) {
    only = part;
    if (several) room.append(room.empty() ? "" : "/").append(part);
  });
  if (!fits) return {};
  return several ? std::string_view(room) : only;
}

/// A name of which some is hidden differs from that of the path as it is shown.
std::string_view Grouping::by_secret_path(std::string_view path, std::string& room) const {
  std::string shown_room, shown_name_room;
  const auto shown = http::shown_path(path, secret_, shown_room);
  const auto name = by_path(path, room);
  if (shown.data() == path.data() || name.empty() || by_path(shown, shown_name_room) == name) return name;
  const auto digits = hash_(name);
  return room.assign(http::kHidden).append(text_of(digits));
}

std::string_view Grouping::shortened(std::string_view name, std::string& room) const {
  if (name.empty()) return kNoGroup;
  if (name.size() <= kLongestGroup) return name;
  const auto digits = hash_(name);
  std::string short_name(name.substr(0, kLongestGroup - digits.size() - 1));
  short_name.append("~").append(text_of(digits));
  return room = std::move(short_name);
}

std::string Grouping::label(std::string_view name) const {
  if (by_ != GroupRule::By::header || name == kNoGroup || name == kOtherGroups) return std::string(name);
  return flow::label_of(text_of(hash_(name)), labels_);
}

}  // namespace penstock::proxy
