// SPDX-License-Identifier: Apache-2.0
// `penstock check`: what is wrong with a file, and what is right but may not do what it seems to.
#include <algorithm>
#include <iostream>

#include "app/authority_file.h"
#include "app/commands.h"
#include "app/reload.h"
#include "app/users_file.h"
#include "config/validate.h"

namespace penstock::app {

namespace {

constexpr const char* kInstead = "; see https: originate, https: intercept and baseUrl";

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

/// Only a CONNECT can be opened, and only where it may go.
void warn_of_closed_ports(const std::string& file, const UpstreamConfig& upstream, const AccessConfig& access) {
  for (const auto& pattern : upstream.match) {
    if (!pattern.port || std::ranges::count(access.connect_ports, *pattern.port) > 0) continue;
    warn(file, upstream.name,
         to_string(pattern) + " is never intercepted, as " + std::to_string(*pattern.port) +
             " is not in access.connectPorts");
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
    switch (upstream.settings.https) {
      case Https::originate: warn_of_port(file, upstream); break;
      case Https::intercept: warn_of_closed_ports(file, upstream, config.access); break;
      case Https::tunnel: warn_of_tunnels(file, upstream); break;
    }
  }
  if (config.unmatched.https == Https::tunnel) warn_of_group(file, "*", config.unmatched.group);
  warn_of_plain_ports(file, config.access);
}

void warn_of_end(const std::string& file, const tls::Authority& authority) {
  const auto words = warning_of_end(authority);
  if (!words.empty()) std::cerr << file << ": warning: " << words << '\n';
}

int refuse(const std::vector<ConfigError>& errors) {
  for (const auto& error : errors) std::cerr << to_string(error) << '\n';
  return 1;
}

}  // namespace

int check(const std::string& file) {
  const auto config = config::load_config(file, process_environment, &unusable_files);
  if (!config) return refuse(config.error());
  if (const auto users = users_of(config->access); !users) return refuse(users.error());
  const auto authority = authority_of(*config);
  warn_of_all(file, *config);
  if (authority && *authority) warn_of_end(file, **authority);
  std::cout << file << ": ok\n";
  return 0;
}

}  // namespace penstock::app
