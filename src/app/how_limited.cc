// SPDX-License-Identifier: Apache-2.0
// See how_limited.h.
#include "app/how_limited.h"

#include <algorithm>

namespace penstock::app {

namespace {

bool may_connect_somewhere(const AccessConfig& access) {
  return access.connect_anywhere || !access.connect_ports.empty();
}

/// Whether requests by CONNECT can match: a tunnel shows no path; one that is opened does, for each of its requests.
bool open_to_connect(const AccessConfig& access, const Match& match, Https https) {
  if (!match.path.empty() && https != Https::intercept) return false;
  return match.port ? may_connect(access, *match.port) : may_connect_somewhere(access);
}

/// The entry "*" has no patterns: it takes everything that no entry names.
bool takes_connect(const Config& config, std::size_t entry, Https https) {
  if (entry == 0) return may_connect_somewhere(config.access);
  const auto& match = config.upstreams[entry - 1].match;
  return std::ranges::any_of(match, [&](const Match& one) { return open_to_connect(config.access, one, https); });
}

std::string of_http(Https https) {
  return https == Https::originate ? "for http://, which leaves as https (https: originate)" : "for http://";
}

std::string of_https(const Config& config, std::size_t entry, Https https) {
  const bool comes = takes_connect(config, entry, https);
  switch (https) {
    case Https::intercept:
      return comes ? "; per request for https:// too, which is opened with a certificate of our own authority (https: "
                     "intercept)"
                   : "; no https:// comes here: none has a port in access.connectPorts";
    case Https::originate:
      if (comes) return "; per tunnel for https:// (CONNECT), which nobody on the way can read";
      break;
    case Https::tunnel:
      if (comes) return "; per tunnel for https:// (CONNECT), which passes as it is (https: tunnel)";
      break;
  }
  return "; no tunnel comes here: none has a path, nor a port outside of access.connectPorts";
}

/// As how_limited() has it, in eight words.
std::string how_in_short(const Config& config, std::size_t entry, const std::string& proxy) {
  if (entry > 0 && config.upstreams[entry - 1].permits)
    return proxy + "/@" + config.upstreams[entry - 1].name + " per permit";
  const auto& settings = entry == 0 ? config.unmatched : config.upstreams[entry - 1].settings;
  std::string gateway;
  if (entry > 0 && config.upstreams[entry - 1].base_url) gateway = proxy + "/@" + config.upstreams[entry - 1].name;
  if (entry > 0 && config.upstreams[entry - 1].match.empty()) return gateway + " per request";
  const auto first = gateway.empty() ? "" : gateway + ", ";
  if (!takes_connect(config, entry, settings.https)) return first + "http:// per request; no https:// comes here";
  if (settings.https == Https::intercept) return first + "http:// and https:// per request";
  const bool as_https = settings.https == Https::originate && gateway.empty();
  return first + "http:// per request" + (as_https ? " as https" : "") + "; https:// per tunnel";
}

}  // namespace

std::string how_limited(const Config& config, std::size_t entry, const std::string& proxy) {
  if (entry == 0) return "per request " + of_http(config.unmatched.https) + of_https(config, 0, config.unmatched.https);
  const auto& upstream = config.upstreams[entry - 1];
  if (upstream.permits) {
    return "per permit, for any work: GET " + proxy + "/@" + upstream.name +
           " holds one until its connection is closed";
  }
  const auto https = upstream.settings.https;
  std::string gateway;
  if (upstream.base_url) gateway = "at " + proxy + "/@" + upstream.name + " (" + to_string(*upstream.base_url) + ")";
  if (upstream.match.empty()) return "per request " + gateway + ", the only way here";
  return "per request " + gateway + (gateway.empty() ? "" : " and ") + of_http(https) + of_https(config, entry, https);
}

std::string preset_of(const UpstreamConfig& upstream) {
  if (upstream.preset.empty()) return {};
  return "preset " + upstream.preset + (upstream.plan.empty() ? ", limits not verified" : ", plan " + upstream.plan);
}

std::string quota_in_words(const Config& config, const UpstreamConfig& upstream) {
  if (upstream.quota.empty()) return {};
  std::string others;
  for (const auto& other : config.upstreams) {
    if (other.quota != upstream.quota || other.name == upstream.name) continue;
    others += (others.empty() ? ", with " : ", ") + other.name;
  }
  return "quota " + upstream.quota + others;
}

std::vector<std::string> how_all_are_limited(const Config& config, const std::string& proxy) {
  std::vector<std::string> lines;
  lines.reserve(config.upstreams.size() + 1);
  for (std::size_t i = 0; i < config.upstreams.size(); ++i) {
    const auto preset = preset_of(config.upstreams[i]);
    lines.push_back("upstream " + config.upstreams[i].name + (preset.empty() ? "" : " (" + preset + ")") + ": " +
                    how_in_short(config, i + 1, proxy));
  }
  if (config.pass_unmatched) lines.push_back("upstream *: " + how_in_short(config, 0, proxy));
  return lines;
}

}  // namespace penstock::app
