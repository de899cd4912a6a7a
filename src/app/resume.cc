// SPDX-License-Identifier: Apache-2.0
// `penstock resume`: asks the admin port of a running Penstock to end pauses.
#include <iostream>

#include "app/admin_client.h"
#include "app/commands.h"
#include "app/settings.h"
#include "base/percent.h"

namespace penstock::app {

int resume(const std::string& config_file, const std::string& admin, const std::string& upstream) {
  const auto endpoint = wanted_admin(config_file, admin);
  if (!endpoint) return 1;
  const auto answer = ask_admin(*endpoint, "/resume?upstream=" + base::percent_encoded(upstream), "POST");
  const auto where = to_string(*endpoint) + ": ";
  if (!answer) return complain(where + answer.error() + "; is this the admin port of a running Penstock?");
  if (answer->fine()) return std::cout << answer->body, 0;
  const auto why = answer->body.substr(0, answer->body.find_first_of("\r\n"));
  return complain(where + (why.empty() ? answer->status : why));
}

}  // namespace penstock::app
