// SPDX-License-Identifier: Apache-2.0
// Checks a file's bytes before YAML reads them: size, UTF-8, control characters. The parser then sees the same bytes,
// so that its positions can be trusted. For document.cc only.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace penstock::config {

/// A fault at a position; line and column count from 1, columns in bytes.
struct Problem {
  int line = 0;
  int column = 0;
  std::string message;
};

/// A problem at the line and column of the byte at `offset`.
Problem problem_at(std::string_view text, std::size_t offset, std::string message);

/// The first fault that makes the text unreadable, if any.
std::optional<Problem> find_unreadable(std::string_view text);

}  // namespace penstock::config
