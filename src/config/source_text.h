// SPDX-License-Identifier: Apache-2.0
// A look at a file's bytes before YAML sees them: size, UTF-8, control characters. What passes has one byte per byte,
// so positions can be trusted. For document.cc only.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace penstock::config {

/// What is wrong at a place; line and column count from 1, columns in bytes.
struct Problem {
  int line = 0;
  int column = 0;
  std::string message;
};

/// The line and column of a byte.
Problem problem_at(std::string_view text, std::size_t offset, std::string message);

/// The first thing that makes the text unreadable, if any.
std::optional<Problem> find_unreadable(std::string_view text);

}  // namespace penstock::config
