// SPDX-License-Identifier: Apache-2.0
// What /ahead is asked, and what it answers.
#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "penstock/ahead.h"

namespace penstock::observe {

/// url=URL, and if they are there method=METHOD, weight=N, cost=N and header=NAME:VALUE, which alone may stand several
/// times. The error is one line: what is missing, faulty or not known.
std::expected<AheadQuery, std::string> ahead_query(std::string_view target);

/// On one line: {"upstream":"github","route":null,"waitMs":1840.2,"limitedBy":"pacer","pending":10}. What is unknown,
/// or not there, is null; "refused" stands there only if the request would be.
std::string ahead_json(const Ahead& ahead);

}  // namespace penstock::observe
