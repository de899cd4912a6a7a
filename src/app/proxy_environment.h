// SPDX-License-Identifier: Apache-2.0
// The environment variables by which programs find a proxy, in upper and lower case, since no program obeys all of
// them. For `env` and `exec`.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "penstock/config.h"

namespace penstock::app {

using Variables = std::vector<std::pair<std::string, std::string>>;

/// For a proxy at `listener`: http_proxy, https_proxy and no_proxy in both cases, and the one that makes Node obey
/// them.
Variables proxy_variables(const Endpoint& listener);

/// Lines that set them in any POSIX shell.
std::string exports_of(const Variables& variables);

}  // namespace penstock::app
