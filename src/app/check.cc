// SPDX-License-Identifier: Apache-2.0
// `penstock check`: what is wrong with a file, and what is valid but may not do what it seems to.
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "app/authority_file.h"
#include "app/check_live.h"
#include "app/commands.h"
#include "app/reload.h"
#include "app/route_words.h"
#include "app/settings.h"
#include "app/users_file.h"
#include "config/validate.h"

namespace penstock::app {

namespace {

struct Found {
  std::vector<ConfigError> errors, warnings;
  std::vector<std::string> facts;   // of `--live`
  std::vector<std::string> routes;  // of each upstream that has some
};

/// Where Redis is, if it is in the file; nothing of it has a place there.
void look_at_redis(const std::string& file, const Config& config, Found& found) {
  if (config.redis.empty()) found.facts.emplace_back("no redis: each process keeps its limits by itself");
  for (const auto& redis : config.redis) {
    const std::string path = config::redis_path(config, redis);
    const std::string which = config.redis.size() > 1 ? path + ": " : "";
    const auto live = check_live(redis, path, config.dns);
    for (const auto& error : live.errors) found.errors.push_back({.file = file, .message = which + error});
    const std::string begins = "warning: " + path + ": ";
    for (const auto& warning : live.warnings) found.warnings.push_back({.file = file, .message = begins + warning});
    for (const auto& fact : live.facts) found.facts.push_back(which + fact);
  }
}

void add_routes(const std::string& upstream, const UpstreamSettings& settings, Found& found) {
  if (auto text = routes_in_short(upstream, settings); !text.empty()) found.routes.push_back(std::move(text));
}

Found found_in(const std::string& file, bool live) {
  Found found;
  const auto config = config::load_config(file, process_environment, &unusable_files, found.warnings);
  if (!config) return {.errors = config.error()};
  if (const auto users = users_of(config->access); !users) return {.errors = users.error()};
  const auto authority = authority_of(*config);
  const auto end = authority && *authority ? warning_of_end(**authority) : "";
  if (!end.empty()) found.warnings.push_back({.file = file, .message = "warning: " + end});
  if (live) look_at_redis(file, *config, found);
  for (const auto& upstream : config->upstreams) add_routes(upstream.name, upstream.settings, found);
  add_routes("*", config->unmatched, found);
  return found;
}

void print_text(const std::string& file, const Found& found) {
  for (const auto& error : found.errors) print(error);
  for (const auto& warning : found.warnings) std::cerr << to_string(warning) << '\n';
  if (found.errors.empty()) std::cout << file << ": ok\n";
  for (const auto& routes : found.routes) std::cout << routes << '\n';
  for (const auto& fact : found.facts) std::cout << fact << '\n';
}

nlohmann::ordered_json json_of(const std::vector<ConfigError>& all) {
  auto list = nlohmann::ordered_json::array();
  for (const auto& one : all)
    list.push_back({{"file", one.file}, {"line", one.line}, {"column", one.column}, {"message", one.message}});
  return list;
}

/// Text of a file may be no UTF-8, which JSON must be.
void print_json(const std::string& file, const Found& found) {
  nlohmann::ordered_json json{{"file", file},
                              {"ok", found.errors.empty()},
                              {"errors", json_of(found.errors)},
                              {"warnings", json_of(found.warnings)},
                              {"live", found.facts}};
  if (!found.routes.empty()) json["routes"] = found.routes;
  std::cout << json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << '\n';
}

}  // namespace

int check(const std::string& file, const std::string& format, bool live) {
  const auto found = found_in(file, live);
  (format == "json" ? print_json : print_text)(file, found);
  return found.errors.empty() ? 0 : 1;
}

}  // namespace penstock::app
