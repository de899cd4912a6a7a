// SPDX-License-Identifier: Apache-2.0
// See traceparent.h. `00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01`: version, trace-id, parent-id, flags.
#include "http/traceparent.h"

#include <algorithm>

#include "http/grammar.h"

namespace penstock::http {

namespace {

constexpr std::size_t kTraceAt = 3, kParentAt = 36, kFlagsAt = 53, kWhole = 55;

bool is_lower_hex(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); });
}

bool is_id(std::string_view text) {
  return is_lower_hex(text) && text.find_first_not_of('0') != std::string_view::npos;
}

/// A version that is not known yet may have more behind the flags.
bool has_the_length(std::string_view value, std::string_view version) {
  return value.size() == kWhole || (value.size() > kWhole && version != "00" && value[kWhole] == '-');
}

}  // namespace

std::string_view trace_id_of(const Fields& fields) {
  constexpr std::string_view kName = "traceparent";
  const auto found = fields.find(kName);
  if (!found || found->size() < kWhole || fields.count(kName) > 1) return {};
  const auto value = *found;
  const auto version = value.substr(0, 2), trace = value.substr(kTraceAt, 32);
  const bool parted = value[kTraceAt - 1] == '-' && value[kParentAt - 1] == '-' && value[kFlagsAt - 1] == '-';
  const bool known = is_lower_hex(version) && version != "ff" && has_the_length(value, version);
  const bool sound = is_id(trace) && is_id(value.substr(kParentAt, 16)) && is_lower_hex(value.substr(kFlagsAt, 2));
  return parted && known && sound ? trace : std::string_view();
}

}  // namespace penstock::http
