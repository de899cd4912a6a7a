// SPDX-License-Identifier: Apache-2.0
// See settings.h.
#include "app/settings.h"

#include <algorithm>
#include <fstream>
#include <iostream>

#include "config/validate.h"

namespace penstock::app {

namespace {

/// Empty: it cannot be read again, or is not to be shown.
std::string line_of(const ConfigError& error) {
  std::ifstream file(error.file);
  std::string line;
  for (int at = 0; at < error.line && std::getline(file, line);) ++at;
  const bool secret = line.contains('@') || line.contains("secret") || line.contains("password");
  return error.line == 0 || !file || secret ? "" : line;
}

/// As wide as the text before the place: a character of several bytes takes one blank, a tab stays one.
std::string blank_before(const std::string& line, int column) {
  std::string blank;
  for (const char c : line.substr(0, static_cast<std::size_t>(std::max(0, column - 1)))) {
    if ((static_cast<unsigned char>(c) & 0xc0) != 0x80) blank += c == '\t' ? '\t' : ' ';
  }
  return blank;
}

}  // namespace

void print(const ConfigError& error) {
  std::cerr << to_string(error) << '\n';
  const auto line = line_of(error);
  if (!line.empty()) std::cerr << "    " << line << "\n    " << blank_before(line, error.column) << "^\n";
}

std::optional<Config> settings(const std::string& config_file) {
  std::vector<ConfigError> warnings;
  return settings(config_file, warnings);
}

std::optional<Config> settings(const std::string& config_file, std::vector<ConfigError>& warnings) {
  if (config_file.empty()) return Config{};
  auto config = config::load_config(config_file, process_environment, {}, warnings);
  if (config) return std::move(*config);
  for (const auto& error : config.error()) print(error);
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
