// SPDX-License-Identifier: Apache-2.0
// Where a libcurl handle gets the authorities from that its TLS trusts.
#pragma once

#include "tls/authorities.h"

namespace penstock::transfer {

struct Trust {
  tls::Authorities* authorities = nullptr;  ///< shared with other handles, must outlive them; null: not shared
  bool borrows = false;                     ///< true: takes them; false: reads files and stores the result
};

}  // namespace penstock::transfer
