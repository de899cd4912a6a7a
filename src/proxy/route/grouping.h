// SPDX-License-Identifier: Apache-2.0
// Which group of its upstream a request belongs to: each group is a lane of its own, with limits of its own where they
// are `per: group`. Knows one upstream's rule; what a group is held to is for others. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flow/group_hash.h"
#include "http/fields.h"
#include "http/target.h"
#include "penstock/config.h"

namespace penstock::proxy {

/// The group of every request that the rule does not fit, and of tunnels, of whose requests neither path nor fields are
/// seen, unless the rule is `host`.
inline constexpr std::string_view kNoGroup = "-";

/// The group of all whose own the booker has no room for.
inline constexpr std::string_view kOtherGroups = "*:others";

/// Longer names end in a hash of the whole: a million groups must fit into memory.
inline constexpr std::size_t kLongestGroup = 128;

class Grouping {
 public:
  /// `rule` as parse_group() gives it. `labels` is the key under which people see names, and may change at any time;
  /// nothing: they see the digits of `hash`.
  Grouping(const GroupRule& rule, flow::GroupHash hash, const base::SipKey* labels = nullptr);

  /// The group's name, never empty: a view into `target` or `fields`, or into `room` where it had to be put together.
  std::string_view name(const http::Target& target, const http::Fields& fields, std::string& room) const;

  /// The name as people may see it: a header's value, which may be a credential, only as 12 hexadecimal digits. Those
  /// that its keys in Redis begin with, or, where there is a key for labels, others.
  std::string label(std::string_view name) const;

  const flow::GroupHash& hash() const { return hash_; }

 private:
  // `before*after`, `before{name}after`, or just `before`.
  struct Segment {
    enum class Part { none, any, named };
    explicit Segment(std::string_view text);
    /// What the open part stands for, at least a character; empty where there is none.
    std::optional<std::string_view> fit(std::string_view text) const;

    std::string before, after;
    Part part = Part::none;
  };

  std::string_view by_path(std::string_view path, std::string& room) const;
  std::string_view shortened(std::string_view name, std::string& room) const;

  const GroupRule::By by_;
  const std::string header_;
  std::vector<Segment> segments_;
  std::size_t named_ = 0;  // segments with a {name}
  const flow::GroupHash hash_;
  const base::SipKey* const labels_;
};

}  // namespace penstock::proxy
