// SPDX-License-Identifier: Apache-2.0
// The query of a request target: NAME=VALUE, joined by &, with escapes. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace penstock::observe {

struct QueryPart {
  std::string name, value;  ///< a value with a faulty escape stays as it is
};
/// The parts of the query of `target`, in their order.
std::vector<QueryPart> query_parts(std::string_view target);
/// The value of the first part of that name; empty: there is none.
std::string asked_for(std::string_view name, std::string_view target);

}  // namespace penstock::observe
