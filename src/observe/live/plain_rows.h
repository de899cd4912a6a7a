// SPDX-License-Identifier: Apache-2.0
// The rows of the page for those that have no browser. Pure.
#pragma once

#include <string>

#include "penstock/snapshot.h"

namespace penstock::observe {

/// A line for each upstream, aligned, with a line of names above.
std::string plain_rows(Snapshot snapshot);

}  // namespace penstock::observe
