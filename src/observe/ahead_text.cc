// SPDX-License-Identifier: Apache-2.0
// See ahead_text.h.
#include "observe/ahead_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "observe/query.h"
#include "observe/status_json.h"

namespace penstock::observe {

namespace {
constexpr int kHeaviest = 1'000'000;

nlohmann::ordered_json text_or_null(const std::string& text) {
  return text.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(text);
}

/// 0: it is none.
int weight_in(const std::string& text) {
  int weight = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), weight);
  const bool is_number = error == std::errc() && end == text.data() + text.size();
  return is_number && weight <= kHeaviest ? std::max(weight, 0) : 0;
}
}  // namespace

std::expected<AheadQuery, std::string> ahead_query(std::string_view target) {
  AheadQuery query{.url = asked_for("url", target)};
  if (query.url.empty()) return std::unexpected("url is missing: /ahead?url=http://host/path");
  if (const auto methods = all_asked_for("method", target); !methods.empty()) query.method = methods.front();
  if (const auto weights = all_asked_for("weight", target); !weights.empty()) {
    query.weight = weight_in(weights.front());
    if (query.weight == 0) return std::unexpected("weight is not one whole number from 1 to 1000000");
  }
  for (const std::string& field : all_asked_for("header", target)) {
    const auto colon = field.find(':');
    if (colon == std::string::npos) return std::unexpected("a header is not NAME:VALUE");
    const auto value = field.find_first_not_of(' ', colon + 1);
    query.fields.push_back({field.substr(0, colon), value == std::string::npos ? "" : field.substr(value)});
  }
  return query;
}

std::string ahead_json(const Ahead& ahead) {
  nlohmann::ordered_json json;
  json["upstream"] = ahead.upstream;
  json["route"] = text_or_null(ahead.route);
  json["waitMs"] = nullptr;
  if (ahead.wait) json["waitMs"] = std::round(static_cast<double>(ahead.wait->count()) / 100) / 10;
  json["limitedBy"] = text_or_null(ahead.limited_by);
  json["pending"] = ahead.pending;
  if (!ahead.refused.empty()) json["refused"] = ahead.refused;
  return json_text(json) + "\n";
}

}  // namespace penstock::observe
