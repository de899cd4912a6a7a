// SPDX-License-Identifier: Apache-2.0
// Where a configuration puts the requests of an event log, with the functions by which the proxy itself routes and
// groups. For `simulate`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text_map.h"
#include "http/target.h"
#include "penstock/config.h"
#include "proxy/route/grouping.h"
#include "proxy/route/router.h"
#include "replay/comparison.h"
#include "replay/event_line.h"
#include "replay/request_log.h"

namespace penstock::app {

class LogRouter {
 public:
  /// Hosts that no entry names have an upstream each; beyond these all share one.
  static constexpr std::size_t kMostUnnamed = 10'000;

  /// `config` must outlive it.
  explicit LogRouter(const Config& config);

  /// The entry that has the name which the line says; else the one whose pattern fits host and path. A line does not
  /// say the port of a named upstream: 443 is tried, then 80.
  replay::Place place(const replay::EventLine& line);

  /// By Place::upstream.
  const std::vector<replay::Upstream>& upstreams() const { return upstreams_; }
  /// False: there is no such upstream, or it draws on a quota, whose name is to be given.
  bool set_quota(std::string_view name, const Rate& quota);

  /// How many requests an entry got whose name is another than the log's.
  std::uint64_t routed_anew() const { return routed_anew_; }
  /// How many have no group in the log, where one goes by a header, which no log has.
  std::uint64_t without_header() const { return without_header_; }
  /// How many paths lack a part that is secret, where a group goes by the path.
  std::uint64_t with_secret_path() const { return with_secret_path_; }

 private:
  const UpstreamSettings& settings_of(std::size_t entry) const;
  std::optional<std::size_t> entry_of(const replay::EventLine& line, http::Target& target);
  std::uint32_t unnamed(const replay::EventLine& line, const http::Target& target, bool is_denied);
  std::uint64_t group_of(std::size_t entry, const replay::EventLine& line, const http::Target& target);
  std::uint32_t played_as(std::size_t entry) const;
  std::uint64_t route_of(std::size_t entry, const replay::EventLine& line) const;

  const Config& config_;
  proxy::Router router_;
  std::vector<std::optional<proxy::Grouping>> groupings_;  // by entry; 0: of "*"
  std::deque<UpstreamSettings> of_quotas_;                 // what holds in each queue
  std::vector<replay::Upstream> upstreams_;                // those of entries, in their order; of quotas; the unnamed
  base::TextMap<std::uint32_t> by_name_;
  std::uint64_t routed_anew_ = 0, without_header_ = 0, with_secret_path_ = 0;
};

}  // namespace penstock::app
