// SPDX-License-Identifier: Apache-2.0
// `penstock resume`: asks the admin port of a running Penstock to end pauses.
#include "app/admin_client.h"
#include "app/commands.h"
#include "base/percent.h"

namespace penstock::app {

int resume(const std::string& config_file, const std::string& admin, const std::string& upstream) {
  const auto endpoint = wanted_admin(config_file, admin);
  if (!endpoint) return 1;
  return print_answer(*endpoint, "/resume?upstream=" + base::percent_encoded(upstream), "POST");
}

}  // namespace penstock::app
