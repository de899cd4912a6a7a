// SPDX-License-Identifier: Apache-2.0
// The page of the admin port, one HTML file with its style and script inside, made of those in src/observe/page. Its
// policy names the digests of these, so that a browser runs nothing else. Pure; made once, at the first use.
#pragma once

#include <string>
#include <string_view>

namespace penstock::observe {

/// As it is served.
std::string_view page();
/// The Content-Security-Policy that goes with it.
const std::string& page_policy();
/// For a file: shows `json`, a frozen state, and asks nobody for another. The policy is inside. Its fields:
/// `snapshot` as /live sends it, with all upstreams; `events`, lines of the log, oldest first, and how many were
/// `dropped`; `history`, by upstream: requests sent in each five seconds, at most sixty, oldest first; `details`, by
/// upstream: as /live sends them; `title`, a sentence above; `open`, the upstream that is open. All but the first may
/// be missing.
std::string frozen_page(std::string_view json);

}  // namespace penstock::observe
