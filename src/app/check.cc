// SPDX-License-Identifier: Apache-2.0
// `penstock check`: what is wrong with a file, and what is right but may not do what it seems to.
#include <iostream>

#include "app/commands.h"
#include "app/settings.h"

namespace penstock::app {

namespace {

void warn(const std::string& file, const std::string& upstream, const std::string& what) {
  std::cerr << file << ": warning: upstreams." << upstream << ": " << what << '\n';
}

void warn_of_group(const std::string& file, const std::string& upstream, const std::optional<GroupRule>& group) {
  if (!group || group->by == GroupRule::By::host) return;
  warn(file, upstream,
       "https:// goes through tunnels, which show neither path nor fields: they are all in group '-' of " +
           to_string(*group));
}

/// What nobody could tell from the file: rules that https, which goes through tunnels, passes by.
void warn_of_tunnels(const std::string& file, const Config& config) {
  for (const auto& [name, match, settings, base_url] : config.upstreams) {
    for (const auto& pattern : match) {
      if (pattern.path.empty() || pattern.port == 80) continue;
      warn(file, name,
           "https:// goes through tunnels, which show no path: " + to_string(pattern) + " is for http:// only");
    }
    warn_of_group(file, name, settings.group);
  }
  warn_of_group(file, "*", config.unmatched.group);
}

}  // namespace

int check(const std::string& file) {
  const auto config = settings(file);
  if (!config) return 1;
  warn_of_tunnels(file, *config);
  std::cout << file << ": ok\n";
  return 0;
}

}  // namespace penstock::app
