// SPDX-License-Identifier: Apache-2.0
// See query.h.
#include "observe/query.h"

#include <algorithm>
#include <utility>

#include "base/percent.h"

namespace penstock::observe {

std::vector<std::string> all_asked_for(std::string_view name, std::string_view target) {
  std::vector<std::string> all;
  const auto query = target.find('?');
  if (query == std::string_view::npos) return all;
  for (target.remove_prefix(query + 1); !target.empty();) {
    const auto part = target.substr(0, target.find('&'));
    if (part.starts_with(name) && part.substr(name.size()).starts_with('=')) {
      const auto value = part.substr(name.size() + 1);
      all.push_back(base::percent_decoded(value).value_or(std::string(value)));
    }
    target.remove_prefix(std::min(target.size(), part.size() + 1));
  }
  return all;
}

std::string asked_for(std::string_view name, std::string_view target) {
  auto all = all_asked_for(name, target);
  return all.empty() ? std::string() : std::move(all.front());
}

}  // namespace penstock::observe
