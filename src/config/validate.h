// SPDX-License-Identifier: Apache-2.0
// What is wrong with the values of a Config, wherever they came from: ranges, names, networks, patterns that collide.
// Knows keys by their paths, not files. For yaml_reader.cc and reloads; everyone else calls penstock::validate.
#pragma once

#include <expected>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/config.h"

namespace penstock::config {

struct Issue {
  std::string path;  ///< "upstreams.github.maxConcurrent", "access.deny[1]"
  std::string message;
  bool inherited = false;  ///< `defaults` has the same fault
};

std::vector<Issue> find_issues(const Config& config);

/// What is said of a value may repeat it: line ends and other controls in it are shown as `\n`, `\x1b`.
std::string in_one_line(std::string_view message);

/// What of `next` a proxy that runs with `in_force` cannot take on.
std::vector<Issue> find_lasting(const Config& in_force, const Config& next);

/// What else may be wrong with a Config that is sound in itself.
using Judge = std::function<std::vector<Issue>(const Config&)>;

/// load_config, with one more judge, which is asked where nothing else is wrong. Where all is right, `warnings` gets
/// what may not do what it seems to.
std::expected<Config, std::vector<ConfigError>> load_config(const std::string& path, const Environment& environment,
                                                            const Judge& judge, std::vector<ConfigError>& warnings);

}  // namespace penstock::config
