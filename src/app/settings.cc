// SPDX-License-Identifier: Apache-2.0
// See settings.h.
#include "app/settings.h"

#include <iostream>

#include "config/validate.h"

namespace penstock::app {

std::optional<Config> settings(const std::string& config_file) {
  std::vector<ConfigError> warnings;
  return settings(config_file, warnings);
}

std::optional<Config> settings(const std::string& config_file, std::vector<ConfigError>& warnings) {
  if (config_file.empty()) return Config{};
  auto config = config::load_config(config_file, process_environment, {}, warnings);
  if (config) return std::move(*config);
  for (const auto& error : config.error()) std::cerr << to_string(error) << '\n';
  return std::nullopt;
}

int complain(const std::string& what) {
  std::cerr << "penstock: " << what << '\n';
  return 1;
}

Endpoint from_here(const Endpoint& listener) {
  if (listener.address == "0.0.0.0") return {"127.0.0.1", listener.port};
  if (listener.address == "::") return {"::1", listener.port};
  return listener;
}

}  // namespace penstock::app
