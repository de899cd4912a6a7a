// SPDX-License-Identifier: Apache-2.0
// See query.h.
#include "observe/query.h"

#include <algorithm>
#include <utility>

#include "base/percent.h"

namespace penstock::observe {

std::vector<QueryPart> query_parts(std::string_view target) {
  std::vector<QueryPart> parts;
  const auto query = target.find('?');
  if (query == std::string_view::npos) return parts;
  for (target.remove_prefix(query + 1); !target.empty();) {
    const auto part = target.substr(0, target.find('&'));
    const auto name = part.substr(0, part.find('='));
    const auto value = part.substr(std::min(part.size(), name.size() + 1));
    if (!part.empty()) parts.emplace_back(std::string(name), base::percent_decoded(value).value_or(std::string(value)));
    target.remove_prefix(std::min(target.size(), part.size() + 1));
  }
  return parts;
}

std::string asked_for(std::string_view name, std::string_view target) {
  auto parts = query_parts(target);
  const auto found = std::ranges::find(parts, name, &QueryPart::name);
  return found == parts.end() ? std::string() : std::move(found->value);
}

}  // namespace penstock::observe
