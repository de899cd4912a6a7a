// SPDX-License-Identifier: Apache-2.0
// `penstock check`: what is wrong with a file, and what is valid but may not do what it seems to.
#include <iostream>
#include <vector>

#include "app/authority_file.h"
#include "app/commands.h"
#include "app/reload.h"
#include "app/users_file.h"
#include "config/validate.h"

namespace penstock::app {

namespace {

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
  std::vector<ConfigError> warnings;
  const auto config = config::load_config(file, process_environment, &unusable_files, warnings);
  if (!config) return refuse(config.error());
  if (const auto users = users_of(config->access); !users) return refuse(users.error());
  const auto authority = authority_of(*config);
  for (const auto& warning : warnings) std::cerr << to_string(warning) << '\n';
  if (authority && *authority) warn_of_end(file, **authority);
  std::cout << file << ": ok\n";
  return 0;
}

}  // namespace penstock::app
