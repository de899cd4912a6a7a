// SPDX-License-Identifier: Apache-2.0
// `penstock schema`.
#include <iostream>

#include "app/commands.h"
#include "app/schema_text.h"

namespace penstock::app {

int schema() {
  std::cout << kSchema;
  return 0;
}

}  // namespace penstock::app
