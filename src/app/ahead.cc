// SPDX-License-Identifier: Apache-2.0
// `penstock ahead`: asks the admin port of a running Penstock when a request would leave.
#include <algorithm>
#include <cctype>
#include <iostream>

#include "app/admin_client.h"
#include "app/commands.h"
#include "app/settings.h"
#include "app/whole_url.h"
#include "base/percent.h"

namespace penstock::app {

int ahead(const AheadOptions& options) {
  const auto endpoint = wanted_admin(options.config_file, options.admin);
  if (!endpoint) return 1;
  std::string path = "/ahead?url=" + base::percent_encoded(whole_url(options.wanted.back()));
  if (options.wanted.size() > 1) {
    std::string method = options.wanted.front();
    std::ranges::transform(method, method.begin(), [](unsigned char c) { return std::toupper(c); });
    path += "&method=" + base::percent_encoded(method);
  }
  if (!options.weight.empty()) path += "&weight=" + base::percent_encoded(options.weight);
  if (!options.cost.empty()) path += "&cost=" + base::percent_encoded(options.cost);
  for (const auto& header : options.headers) path += "&header=" + base::percent_encoded(header);
  const auto answer = ask_admin(*endpoint, path);
  const auto where = to_string(*endpoint) + ": ";
  if (!answer) return complain(where + answer.error() + "; is this the admin port of a running Penstock?");
  if (answer->fine()) return std::cout << answer->body, 0;
  const auto why = answer->body.substr(0, answer->body.find_first_of("\r\n"));
  return complain(where + (why.empty() ? answer->status : why));
}

}  // namespace penstock::app
