// SPDX-License-Identifier: Apache-2.0
// `penstock check`: what is wrong with a file, and what is right but may not do what it seems to.
#include <algorithm>
#include <iostream>

#include "app/commands.h"
#include "app/settings.h"

namespace penstock::app {

namespace {

constexpr const char* kInstead = "; see https: originate and baseUrl";

void warn(const std::string& file, const std::string& upstream, const std::string& what) {
  std::cerr << file << ": warning: upstreams." << upstream << ": " << what << '\n';
}

void warn_of_group(const std::string& file, const std::string& upstream, const std::optional<GroupRule>& group) {
  if (!group || group->by == GroupRule::By::host) return;
  warn(file, upstream,
       "https:// goes through tunnels, which show neither path nor fields: they are all in group '-' of " +
           to_string(*group) + kInstead);
}

/// Rules that https, which goes through tunnels, passes by. Who originates https has found the way around them.
void warn_of_tunnels(const std::string& file, const UpstreamConfig& upstream) {
  for (const auto& pattern : upstream.match) {
    if (pattern.path.empty() || pattern.port == 80) continue;
    warn(
        file, upstream.name,
        "https:// goes through tunnels, which show no path: " + to_string(pattern) + " is for http:// only" + kInstead);
  }
  if (!upstream.match.empty()) warn_of_group(file, upstream.name, upstream.settings.group);
}

/// A pattern is held against what the application calls, and http:// means port 80 there.
void warn_of_port(const std::string& file, const UpstreamConfig& upstream) {
  for (const auto& pattern : upstream.match) {
    if (pattern.port != 443) continue;
    Match without = pattern;
    without.port.reset();
    warn(file, upstream.name,
         to_string(pattern) + " does not fit http://" + to_string(without) +
             ", whose port becomes 443 only behind it; write " + to_string(without));
  }
}

/// Nobody says in so many words that the default is to be kept.
void warn_of_plain_ports(const std::string& file, const AccessConfig& access) {
  if (access.plain_ports == AccessConfig{}.plain_ports) return;
  for (const auto port : access.plain_ports) {
    if (std::ranges::count(access.connect_ports, port) > 0) continue;
    std::cerr << file << ": warning: access.plainPorts: " << port << " does nothing, as it is not in connectPorts\n";
  }
}

/// What nobody could tell from the file.
void warn_of_all(const std::string& file, const Config& config) {
  for (const auto& upstream : config.upstreams) {
    const bool originates = upstream.settings.https == Https::originate;
    originates ? warn_of_port(file, upstream) : warn_of_tunnels(file, upstream);
  }
  if (config.unmatched.https == Https::tunnel) warn_of_group(file, "*", config.unmatched.group);
  warn_of_plain_ports(file, config.access);
}

}  // namespace

int check(const std::string& file) {
  const auto config = settings(file);
  if (!config) return 1;
  warn_of_all(file, *config);
  std::cout << file << ": ok\n";
  return 0;
}

}  // namespace penstock::app
