// SPDX-License-Identifier: Apache-2.0
// What is said of a transfer that failed. Pure.
#pragma once

#include "http/refusal.h"
#include "transfer/transfer.h"

namespace penstock::proxy {

/// For people: libcurl's own words, which are for programmers, only where there are no better ones.
http::Refusal refusal_of(const transfer::Result& failed);

}  // namespace penstock::proxy
