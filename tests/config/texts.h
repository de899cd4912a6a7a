// SPDX-License-Identifier: Apache-2.0
// What is read of the text of a file: its Config, the errors, the warnings. For tests of this folder.
#pragma once

#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "config/validate.h"
#include "penstock/config.h"

namespace penstock {

/// Of a text without errors.
inline Config config_in(const std::string& text) {
  const auto config = read_config(text, "f");
  if (config) return *config;
  for (const auto& error : config.error()) ADD_FAILURE() << to_string(error);
  return {};
}

inline std::vector<std::string> errors_in(const std::string& text) {
  std::vector<std::string> all;
  const auto config = read_config(text, "f");
  if (config) return all;
  for (const auto& error : config.error()) all.push_back(to_string(error));
  return all;
}

/// Each as "LINE: message".
inline std::vector<std::string> warnings_in(const std::string& text) {
  const auto path = std::filesystem::path(testing::TempDir()) / ("text-" + std::to_string(::getpid()) + ".yaml");
  std::ofstream(path) << text;
  std::vector<ConfigError> found;
  EXPECT_TRUE(config::load_config(path, process_environment, {}, found));
  std::filesystem::remove(path);
  std::vector<std::string> all;
  for (const auto& one : found) all.push_back(std::to_string(one.line) + ": " + one.message);
  return all;
}

}  // namespace penstock
