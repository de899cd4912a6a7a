// SPDX-License-Identifier: Apache-2.0
// `penstock env`.
#include <iostream>

#include "app/ca_environment.h"
#include "app/commands.h"
#include "app/settings.h"

namespace penstock::app {

int env(const std::string& config_file, const std::string& format) {
  const auto config = settings(config_file);
  if (!config) return 1;
  if (config->proxy.listen.port == 0)
    return complain("proxy.listen has port 0, so its real port is known to nobody yet");
  const auto listener = from_here(config->proxy.listen);
  const auto variables = variables_for(*config, listener);
  if (!variables) return 1;
  std::cout << lines_of(*variables, format);
  return 0;
}

}  // namespace penstock::app
