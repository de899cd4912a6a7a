// SPDX-License-Identifier: Apache-2.0
// What a running proxy cannot take over from another Config: what it bound or opened when it started.
#include "config/checks.h"
#include "config/validate.h"

namespace penstock::config {

std::vector<Issue> find_lasting(const Config& in_force, const Config& next) {
  Issues issues;
  const auto lasts = [&](const std::string& path, bool same) {
    if (!same) add(issues, path, " cannot be changed by a reload; restart instead");
  };
  lasts("proxy.listen", in_force.proxy.listen == next.proxy.listen);
  lasts("admin.listen", in_force.admin.listen == next.admin.listen);
  lasts("log.events", in_force.log.events == next.log.events);
  lasts("dns", in_force.dns == next.dns);
  return issues;
}

}  // namespace penstock::config
