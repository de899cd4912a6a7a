// SPDX-License-Identifier: Apache-2.0
// The parts of /status, which /live shows too. Times are in milliseconds; what is unknown is null, never 0.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "penstock/config.h"
#include "penstock/snapshot.h"

namespace penstock::observe {

/// Whether the client may see paths, ids, users, clients and groups.
struct Details {
  bool shown = false;
  std::string why;  ///< a sentence for people
};

/// What is true of the whole process: all of /status but upstreams and configuration.
nlohmann::ordered_json process_json(const Snapshot& snapshot, const Config& config, const Details& details);
/// `taken_at`: of the snapshot that it is from.
nlohmann::ordered_json upstream_json(const UpstreamSnapshot& upstream, std::int64_t taken_at, const Details& details);
nlohmann::ordered_json groups_json(const std::vector<GroupSnapshot>& groups);
/// The requests that wait, and whose they are. Only for a client that may see details.
nlohmann::ordered_json waiting_json(const UpstreamDetails& details);
nlohmann::ordered_json callers_json(const UpstreamDetails& details);
/// Without passwords.
nlohmann::ordered_json configuration_json(const Config& config);

/// On one line without spaces; or, with an indent, on several.
std::string json_text(const nlohmann::ordered_json& json, int indent = -1);

/// The body of /status.
std::string status_json(const Snapshot& snapshot, const Config& config, const Details& details);

}  // namespace penstock::observe
