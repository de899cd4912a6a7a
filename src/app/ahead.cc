// SPDX-License-Identifier: Apache-2.0
// `penstock ahead`: asks the admin port of a running Penstock when a request would leave.
#include <algorithm>
#include <cctype>

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
  return print_answer(*endpoint, path);
}

}  // namespace penstock::app
