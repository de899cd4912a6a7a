// SPDX-License-Identifier: Apache-2.0
// The head of an answer, in one line of a table.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "http/response_head.h"

namespace penstock::http {

using AnswerFields = std::vector<std::pair<std::string_view, std::string_view>>;

inline constexpr std::int64_t kAnsweredAt = 1'700'000'000;  // Tue, 14 Nov 2023 22:13:20 GMT

inline ResponseHead head_of(int status, const AnswerFields& pairs) {
  ResponseHead head;
  head.status = status;
  for (const auto& [name, value] : pairs) head.fields.add(name, value);
  return head;
}

}  // namespace penstock::http
