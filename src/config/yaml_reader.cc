// SPDX-License-Identifier: Apache-2.0
// Turns a file's text into a Config, or into all its errors: parses, reads, judges. Implements penstock/config.h.
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <tuple>

#include "config/document.h"
#include "config/keys.h"
#include "config/validate.h"
#include "config/warnings.h"
#include "penstock/config.h"

namespace penstock {

namespace {

using Errors = std::vector<ConfigError>;

Errors in_order(std::vector<config::Problem> problems, const std::string& file) {
  const auto place = [](const config::Problem& p) { return std::tie(p.line, p.column); };
  std::stable_sort(problems.begin(), problems.end(), [&](const auto& a, const auto& b) { return place(a) < place(b); });
  Errors errors;
  for (const auto& p : problems) errors.push_back({file, p.line, p.column, config::in_one_line(p.message)});
  return errors;
}

std::expected<std::string, Errors> text_of(const std::string& path) {
  std::ifstream stream{path, std::ios::binary};
  std::ostringstream text;
  const bool empty = stream.peek() == std::ifstream::traits_type::eof() && !stream.bad() && stream.is_open();
  if (!empty && !(text << stream.rdbuf())) {
    return std::unexpected(Errors{{.file = path, .message = "cannot be read: " + std::string(std::strerror(errno))}});
  }
  return text.str();
}

/// A value that must be set, and is not, is missing to people, and not 0.
std::string without_default(std::string message) {
  for (const std::string_view zero : {" is 0;", " is 0s;"}) {
    if (const auto at = message.find(zero); at != std::string::npos) message.replace(at, zero.size(), " is missing;");
  }
  return message;
}

/// Only a CONNECT can be intercepted. Where the file has no list of ports, it must not need one.
void open_ports_that_are_intercepted(Config& config) {
  auto& ports = config.access.connect_ports;
  for (const auto& upstream : config.upstreams) {
    if (upstream.settings.https != Https::intercept) continue;
    for (const auto& pattern : upstream.match) {
      if (pattern.port && !may_connect(config.access, *pattern.port)) ports.push_back(*pattern.port);
    }
  }
}

std::expected<Config, Errors> read_all(std::string_view yaml, const std::string& file, const Environment& environment,
                                       const config::Judge& judge, Errors& warnings) {
  auto document = config::parse_document(yaml);
  if (!document) return std::unexpected(in_order({document.error()}, file));
  config::Reading reading{environment, std::move(document->problems)};
  Config result;
  config::read_root(reading, document->root, result);
  if (!reading.has_met("access.connectPorts")) open_ports_that_are_intercepted(result);
  for (auto& issue : config::find_issues(result)) {
    const bool told_elsewhere = issue.inherited && !reading.has_met(issue.path);
    if (told_elsewhere) continue;
    const bool set = reading.has_met(issue.path);
    reading.complain_about(issue.path, set ? std::move(issue.message) : without_default(std::move(issue.message)));
  }
  if (judge && reading.content()) {
    for (auto& issue : judge(result)) reading.complain_about(issue.path, std::move(issue.message));
  }
  auto errors = in_order(reading.take(), file);
  if (!errors.empty()) return std::unexpected(std::move(errors));
  const auto said = [&](const std::string& path) { return reading.has_met(path); };
  for (auto& issue : config::find_warnings(result, said)) reading.complain_about(issue.path, std::move(issue.message));
  warnings = in_order(reading.take(), file);
  return result;
}

}  // namespace

std::string to_string(const ConfigError& error) {
  std::string place = error.file;
  if (error.line > 0) place += ":" + std::to_string(error.line) + ":" + std::to_string(error.column);
  return place.empty() ? error.message : place + ": " + error.message;
}

std::optional<std::string> process_environment(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value ? std::optional<std::string>(value) : std::nullopt;
}

std::expected<Config, Errors> read_config(std::string_view yaml, const std::string& file,
                                          const Environment& environment) {
  Errors warnings;
  return read_all(yaml, file, environment, {}, warnings);
}

std::expected<Config, Errors> load_config(const std::string& path, const Environment& environment) {
  Errors warnings;
  return config::load_config(path, environment, {}, warnings);
}

std::expected<Config, Errors> config::load_config(const std::string& path, const Environment& environment,
                                                  const Judge& judge, Errors& warnings) {
  const auto text = text_of(path);
  if (!text) return std::unexpected(text.error());
  return read_all(*text, path, environment, judge, warnings);
}

}  // namespace penstock
