// SPDX-License-Identifier: Apache-2.0
// What was probably meant by a word that stands in the wrong place, or that other programs use. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "penstock/duration.h"

namespace penstock::config {

/// The end of a sentence about an unknown key of the section at `path`, as `; here it is 'reservoir'`; empty: unknown.
std::string hint_for_key(std::string_view path, std::string_view key);

/// About a text where keys are expected: how to write what it probably means; empty: unknown.
std::string hint_for_text(std::string_view path, std::string_view text);

/// The sum of a duration in several units, `1m30s`; nullopt: it is none.
std::optional<Duration> sum_of_units(std::string_view text);

}  // namespace penstock::config
