// SPDX-License-Identifier: Apache-2.0
// Splits bytes into lines, however they arrive: a line that lies within one read is a view of it. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace penstock::http {

class LineBuffer {
 public:
  /// Takes the next line, with its line feed, from the front of `bytes`. Nothing: the line is not complete, and all
  /// bytes were kept. The view is valid until the next call, and only as long as the memory of `bytes`.
  std::optional<std::string_view> next(std::string_view& bytes) {
    if (given_) kept_.clear();
    given_ = false;
    const std::size_t end = bytes.find('\n');
    const std::string_view line = bytes.substr(0, end == std::string_view::npos ? end : end + 1);
    bytes.remove_prefix(line.size());
    given_ = end != std::string_view::npos;
    if (given_ && kept_.empty()) return line;
    kept_.append(line);
    return given_ ? std::optional<std::string_view>(kept_) : std::nullopt;
  }

  /// Bytes kept of an incomplete line.
  std::size_t kept() const { return given_ ? 0 : kept_.size(); }

 private:
  std::string kept_;
  bool given_ = false;  // the last call gave a line
};

}  // namespace penstock::http
