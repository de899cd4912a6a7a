// SPDX-License-Identifier: Apache-2.0
// The refusal for a transfer that failed. Pure.
#pragma once

#include "http/refusal.h"
#include "transfer/transfer.h"

namespace penstock::proxy {

/// For people: uses libcurl's own words, which are for programmers, only if there are no better ones.
http::Refusal refusal_of(const transfer::Result& failed);

}  // namespace penstock::proxy
