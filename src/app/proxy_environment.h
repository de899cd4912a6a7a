// SPDX-License-Identifier: Apache-2.0
// The environment variables by which programs find a proxy, in upper and lower case, since no program obeys all of
// them. For `env` and `exec`.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "penstock/config.h"

namespace penstock::app {

using Variables = std::vector<std::pair<std::string, std::string>>;

/// For a proxy at `listener`: http_proxy, https_proxy and no_proxy in both cases, and the one that makes Node obey
/// them.
Variables proxy_variables(const Endpoint& listener);

/// Lines that set them: `sh`, in any POSIX shell; `fish`; `dotenv`, with values in double quotes; `docker`, as they
/// are.
std::string lines_of(const Variables& variables, std::string_view format = "sh");

}  // namespace penstock::app
