// SPDX-License-Identifier: Apache-2.0
// Which group of its upstream a request belongs to. Each group is a lane of its own, with its own limits where they are
// `per: group`. Knows only one upstream's grouping rule, not the limits. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/path_pattern.h"
#include "flow/group_hash.h"
#include "http/fields.h"
#include "http/target.h"
#include "penstock/config.h"

namespace penstock::proxy {

/// The group of requests that the rule does not match, and of all tunnels unless the rule is `host`: their paths and
/// fields are not visible.
inline constexpr std::string_view kNoGroup = "-";

/// The group of all requests for whose own group the limiter has no room.
inline constexpr std::string_view kOtherGroups = "*:others";

/// In bytes. Longer names are cut and end in a hash of the whole name, so that a million groups fit into memory.
inline constexpr std::size_t kLongestGroup = 128;

class Grouping {
 public:
  /// `rule` as parse_group() returns it. `labels` is the key for the names that people see, and may change at any time;
  /// null: they see the digits of `hash`. `secret`: the upstream's patterns of secret paths, which must outlive this.
  Grouping(const GroupRule& rule, flow::GroupHash hash, const base::SipKey* labels = nullptr,
           std::span<const std::string> secret = {});

  /// The group's name, never empty: a view into `target`, `fields` or `text`, or into `room` if it had to be composed.
  /// Where it has a secret part of the path, it is `…` and the digits of its hash. `text` is what a JSON body has under
  /// the path of the rule.
  std::string_view name(const http::Target& target, const http::Fields& fields, std::string& room,
                        std::string_view text = {}) const;

  /// The name as people may see it. A header's value may be a credential, so it is shown as 12 hexadecimal digits:
  /// those that its Redis keys begin with, or others if there is a `labels` key.
  std::string label(std::string_view name) const;

  GroupRule::By by() const { return by_; }
  const flow::GroupHash& hash() const { return hash_; }

 private:
  std::string_view by_path(std::string_view path, std::string& room) const;
  std::string_view by_secret_path(std::string_view path, std::string& room) const;
  std::string_view shortened(std::string_view name, std::string& room) const;

  const GroupRule::By by_;
  const std::string header_;
  const base::PathPattern pattern_;
  const flow::GroupHash hash_;
  const base::SipKey* const labels_;
  const std::span<const std::string> secret_;
};

}  // namespace penstock::proxy
