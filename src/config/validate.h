// SPDX-License-Identifier: Apache-2.0
// Finds what is wrong with the values of a Config, wherever they came from: ranges, names, networks, patterns that
// collide. Knows keys by their paths, not files. For yaml_reader.cc and reloads; others call penstock::validate.
#pragma once

#include <expected>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "config/issue.h"
#include "penstock/config.h"

namespace penstock::config {

std::vector<Issue> find_issues(const Config& config);

/// Where the keys of that Redis stand: "redis", or "redis.NAME".
std::string redis_path(const Config& config, const RedisConfig& redis);

/// Messages may repeat a value: line ends and other control characters in it are shown as `\n`, `\x1b`.
std::string in_one_line(std::string_view message);

/// The values of `next` that a proxy running with `in_force` cannot take over.
std::vector<Issue> find_lasting(const Config& in_force, const Config& next);

/// A further check of a Config that is sound in itself.
using Judge = std::function<std::vector<Issue>(const Config&)>;

/// Like penstock::load_config, with one more check, which is made if nothing else is wrong. If all is right, `warnings`
/// gets the settings that may not do what they seem to.
std::expected<Config, std::vector<ConfigError>> load_config(const std::string& path, const Environment& environment,
                                                            const Judge& judge, std::vector<ConfigError>& warnings);

}  // namespace penstock::config
