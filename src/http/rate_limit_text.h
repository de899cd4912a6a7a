// SPDX-License-Identifier: Apache-2.0
// The numbers and parameters in fields about rate limits. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "http/fields.h"

namespace penstock::http {

/// Microseconds since 1970 by the clock of the one that answers: its `Date`, or our own clock if there is none.
std::int64_t clock_of(const Fields& fields, std::int64_t wall);

/// Whole units, by the number before parameters and other items: 76 of "76;w=21600", 598 of "598.5", 0 of "-3".
std::optional<std::uint64_t> units_of(std::string_view text);

/// The value behind that name, such as `r=`, which begins the item or follows a separator.
std::optional<std::string_view> parameter_of(std::string_view item, std::string_view name);

}  // namespace penstock::http
