// SPDX-License-Identifier: Apache-2.0
// `penstock healthcheck`: one question to the admin port.
#include "app/admin_client.h"
#include "app/commands.h"
#include "app/settings.h"

namespace penstock::app {

int healthcheck(const std::string& config_file) {
  const auto config = settings(config_file);
  if (!config) return 1;
  const auto admin = admin_of(*config);
  if (!admin) return complain(admin.error());
  const auto answer = ask_admin(*admin, "/readyz");
  if (!answer) return complain("not ready: " + to_string(*admin) + ": " + answer.error());
  return answer->fine() ? 0 : complain("not ready: " + to_string(*admin) + " answers " + answer->status);
}

}  // namespace penstock::app
