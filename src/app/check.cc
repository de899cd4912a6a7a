// SPDX-License-Identifier: Apache-2.0
// `penstock check`.
#include <iostream>

#include "app/commands.h"
#include "app/settings.h"

namespace penstock::app {

int check(const std::string& file) {
  if (!settings(file)) return 1;
  std::cout << file << ": ok\n";
  return 0;
}

}  // namespace penstock::app
