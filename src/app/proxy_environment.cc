// SPDX-License-Identifier: Apache-2.0
// See proxy_environment.h.
#include "app/proxy_environment.h"

namespace penstock::app {

namespace {

/// With `before` before each of the characters `special`.
std::string escaped(const std::string& text, std::string_view special, std::string_view before) {
  std::string all;
  for (const char c : text) {
    if (special.find(c) != std::string_view::npos) all += before;
    all += c;
  }
  return all;
}

/// Inside single quotes only the closing quote is special to a POSIX shell, which has no way to escape it there.
std::string quoted_for_sh(const std::string& text) { return "'" + escaped(text, "'", "'\\'") + "'"; }

}  // namespace

Variables proxy_variables(const Endpoint& listener) {
  const std::string url = "http://" + to_string(listener);
  // Without it programs would ask for the admin port through the proxy, which refuses its own ports.
  const std::string& direct = listener.address;
  // Without the last one Node's own clients ignore all the others.
  return {{"http_proxy", url},  {"HTTP_PROXY", url},  {"https_proxy", url},       {"HTTPS_PROXY", url},
          {"no_proxy", direct}, {"NO_PROXY", direct}, {"NODE_USE_ENV_PROXY", "1"}};
}

std::string lines_of(const Variables& variables, std::string_view format) {
  std::string lines;
  for (const auto& [name, value] : variables) {
    if (format == "fish") {
      lines.append("set -gx ").append(name).append(" '").append(escaped(value, "\\'", "\\")).append("'\n");
    } else if (format == "dotenv") {
      lines.append(name).append("=\"").append(escaped(value, "\\\"$`", "\\")).append("\"\n");
    } else if (format == "docker") {
      lines.append(name).append("=").append(value).append("\n");
    } else {
      lines.append("export ").append(name).append("=").append(quoted_for_sh(value)).append("\n");
    }
  }
  return lines;
}

}  // namespace penstock::app
