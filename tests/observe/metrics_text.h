// SPDX-License-Identifier: Apache-2.0
// What tests of metrics share: a configuration, an event, and how a value is found in the text.
#pragma once

#include <charconv>
#include <optional>
#include <string>

#include "observe/metrics.h"
#include "penstock/config.h"
#include "penstock/event.h"

namespace penstock::observe {

inline Config two_upstreams() {
  Config config;
  config.unmatched.max_concurrent = 16;
  config.upstreams.push_back({.name = "github", .match = {}, .settings = {}});
  config.upstreams.back().settings.max_concurrent = 20;
  config.upstreams.back().settings.queue = {.max_pending = 50, .max_wait = 2s};
  config.upstreams.push_back({.name = "discord", .match = {}, .settings = {}});
  return config;
}

inline Event event(EventKind kind, Outcome outcome, std::size_t entry = 1) {
  Event made;
  made.kind = kind;
  made.outcome = outcome;
  made.entry = entry;
  made.upstream = entry == 0 ? "a.example:80" : "github";
  return made;
}

/// The value of the series written exactly so.
inline std::optional<double> value_of(const std::string& text, const std::string& series) {
  const std::string wanted = "\n" + series + " ";
  const auto found = text.find(wanted);
  if (found == std::string::npos) return std::nullopt;
  double value = 0;
  const char* start = text.data() + found + wanted.size();
  if (std::from_chars(start, text.data() + text.size(), value).ec != std::errc{}) return std::nullopt;
  return value;
}

}  // namespace penstock::observe
