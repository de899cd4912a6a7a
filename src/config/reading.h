// SPDX-License-Identifier: Apache-2.0
// The state of reading one file, and the readers of single values: collects errors, and keeps the position of every key
// found, so that errors found later by validation have one too. For keys.cc and yaml_reader.cc.
#pragma once

#include <expected>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "config/document.h"
#include "penstock/config.h"

namespace penstock::config {

/// A value of the tree, and its path: "upstreams.github.queue".
struct Spot {
  const Node& node;
  std::string path;
};

class Reading {
 public:
  /// `so_far`: the problems found before.
  Reading(const Environment& environment, std::vector<Problem> so_far);

  void complain(const Node& at, std::string message);
  /// Keeps the position of a key that exists, for later complaints.
  void met(const std::string& path, const Node& at);
  bool has_met(const std::string& path) const { return places_.contains(path); }
  /// About the value at `path`, or the nearest one around it that exists. Silent if that had a complaint already.
  void complain_about(std::string path, std::string message);
  /// What is missing below `path` has a cause that was told: complain_about() is silent of it.
  void excuse(const std::string& path);
  std::size_t problems() const { return problems_.size(); }
  /// The scalar's text with every ${NAME} replaced. Nothing, after a complaint, if that cannot be had.
  std::optional<std::string> text(const Spot& spot, std::string_view expected);

  bool content() const { return problems_.empty(); }
  std::vector<Problem> take() { return std::move(problems_); }

 private:
  using Place = std::pair<int, int>;  // line and column

  std::optional<std::string> filled_in(const Spot& spot);
  std::expected<std::string, std::string> value_of(std::string_view reference) const;

  const Environment& environment_;
  std::vector<Problem> problems_;
  std::set<Place> blamed_;  // has a complaint at it already
  std::map<std::string, Place> places_;
};

/// The path without the indices of items, which people do not count: "upstreams.github.limits.window.interval".
std::string shown(std::string_view path);
/// "maxPending in upstreams.github.queue", "version".
std::string named(std::string_view path);

void read(Reading&, const Spot&, Duration& into);
void read(Reading&, const Spot&, std::size_t& into);  ///< a count
void read(Reading&, const Spot&, int& into);          ///< a count
void read(Reading&, const Spot&, double& into);       ///< a plain number
void read(Reading&, const Spot&, bool& into);
void read(Reading&, const Spot&, std::string& into);
void read(Reading&, const Spot&, Endpoint& into);
void read(Reading&, const Spot&, LogLevel& into);
void read(Reading&, const Spot&, LogClient& into);
void read(Reading&, const Spot&, AdminDetails& into);
void read(Reading&, const Spot&, WhenDown& into);
void read(Reading&, const Spot&, Https& into);
void read(Reading&, const Spot&, H2Only& into);
void read(Reading&, const Spot&, std::optional<BaseUrl>& into);
void read(Reading&, const Spot&, Obey& into);  ///< a word, or a list of dialects
void read(Reading&, const Spot&, PauseScope& into);
void read(Reading&, const Spot&, Learn& into);
void read(Reading&, const Spot&, RetryConfig::Failures& into);
void read(Reading&, const Spot&, LimitConfig::Per& into);
void read(Reading&, const Spot&, LimitConfig::Mode& into);
void read(Reading&, const Spot&, std::optional<GroupRule>& into);
void read(Reading&, const Spot&, std::vector<std::string>& into);
void read(Reading&, const Spot&, std::optional<std::vector<std::string>>& into);
void read(Reading&, const Spot&, std::vector<std::uint16_t>& into);  ///< counts
void read(Reading&, const Spot&, std::vector<Match>& into);          ///< one pattern or a list
void read_size(Reading&, const Spot&, std::size_t& into);
void read_switch(Reading&, const Spot&, bool& into);  ///< on or off, or as any bool
void read_percent(Reading&, const Spot&, int& into);  ///< `20%`

}  // namespace penstock::config
