// SPDX-License-Identifier: Apache-2.0
// See variables.h.
#include "app/proxy_environment.h"

namespace penstock::app {

Variables proxy_variables(const Endpoint& listener) {
  const std::string url = "http://" + to_string(listener);
  // Without it the admin port would be asked for through the proxy, which refuses its own ports.
  const std::string& direct = listener.address;
  // Without the last Node's own clients look at none of the others.
  return {{"http_proxy", url},  {"HTTP_PROXY", url},  {"https_proxy", url},       {"HTTPS_PROXY", url},
          {"no_proxy", direct}, {"NO_PROXY", direct}, {"NODE_USE_ENV_PROXY", "1"}};
}

}  // namespace penstock::app
