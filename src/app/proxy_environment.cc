// SPDX-License-Identifier: Apache-2.0
// See proxy_environment.h.
#include "app/proxy_environment.h"

namespace penstock::app {

namespace {

// Inside single quotes only the closing quote is special.
std::string shell_quoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

}  // namespace

Variables proxy_variables(const Endpoint& listener) {
  const std::string url = "http://" + to_string(listener);
  // Without it programs would ask for the admin port through the proxy, which refuses its own ports.
  const std::string& direct = listener.address;
  // Without the last one Node's own clients ignore all the others.
  return {{"http_proxy", url},  {"HTTP_PROXY", url},  {"https_proxy", url},       {"HTTPS_PROXY", url},
          {"no_proxy", direct}, {"NO_PROXY", direct}, {"NODE_USE_ENV_PROXY", "1"}};
}

std::string exports_of(const Variables& variables) {
  std::string lines;
  for (const auto& [name, value] : variables) lines += "export " + name + "=" + shell_quoted(value) + "\n";
  return lines;
}

}  // namespace penstock::app
