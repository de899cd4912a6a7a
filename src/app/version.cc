// SPDX-License-Identifier: Apache-2.0
// The only file that knows the commit, so that nothing else is recompiled when it changes.
#include "app/commands.h"

namespace penstock::app {

std::string version() { return PENSTOCK_VERSION; }

std::string version_line() { return "penstock " PENSTOCK_VERSION " (commit " PENSTOCK_COMMIT ")"; }

}  // namespace penstock::app
