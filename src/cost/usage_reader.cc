// SPDX-License-Identifier: Apache-2.0
// See usage_reader.h.
#include "cost/usage_reader.h"

#include <algorithm>

namespace penstock::cost {
namespace {

bool same(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; };
  return std::ranges::equal(a, b, {}, lower, lower);
}

}  // namespace

BodyShape body_shape(std::string_view content_type) {
  auto type = content_type.substr(0, content_type.find(';'));
  while (!type.empty() && (type.back() == ' ' || type.back() == '\t')) type.remove_suffix(1);
  if (same(type, "text/event-stream")) return BodyShape::events;
  constexpr std::string_view kSuffix = "+json";
  const bool is_json = same(type, "application/json") ||
                       (type.size() > kSuffix.size() && same(type.substr(type.size() - kSuffix.size()), kSuffix));
  return is_json ? BodyShape::json : BodyShape::none;
}

void UsageReader::feed(std::string_view bytes) {
  if (shape_ == BodyShape::json) scanner_.feed(bytes);
  if (shape_ != BodyShape::events) return;
  std::string_view piece;
  for (auto state = events_.next(bytes, piece); state != EventStream::State::more; state = events_.next(bytes, piece)) {
    if (state == EventStream::State::over) {
      scanner_.restart();
    } else {
      scanner_.feed(piece);
    }
  }
}

}  // namespace penstock::cost
