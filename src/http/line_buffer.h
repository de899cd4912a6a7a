// SPDX-License-Identifier: Apache-2.0
// Cuts lines out of bytes, however these come: a line that lies within one read is a view of it. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace penstock::http {

class LineBuffer {
 public:
  /// Takes the next line, with its line feed, from the front of `bytes`. Nothing: all of them are kept, for the line is
  /// not whole. The view lives until the next call, or as long as `bytes`.
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

  /// Bytes of a line that is not whole.
  std::size_t kept() const { return given_ ? 0 : kept_.size(); }

 private:
  std::string kept_;
  bool given_ = false;  // what is kept was a line
};

}  // namespace penstock::http
