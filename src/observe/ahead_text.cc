// SPDX-License-Identifier: Apache-2.0
// See ahead_text.h.
#include "observe/ahead_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "observe/query.h"
#include "observe/status_json.h"

namespace penstock::observe {

namespace {
constexpr int kHeaviest = 1'000'000, kDearest = 1'000'000'000;

nlohmann::ordered_json text_or_null(const std::string& text) {
  return text.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(text);
}

/// 0: it is none.
int units_in(const std::string& text, int most) {
  int units = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), units);
  const bool is_number = error == std::errc() && end == text.data() + text.size();
  return is_number && units <= most ? std::max(units, 0) : 0;
}

std::string not_in_bounds(std::string_view name, int most) {
  return std::string(name) + " is not one whole number from 1 to " + std::to_string(most);
}

/// Empty: all is well.
std::string take_field(const std::string& text, AheadQuery& query) {
  const auto colon = text.find(':');
  if (colon == std::string::npos) return "a header is not NAME:VALUE";
  const auto value = text.find_first_not_of(' ', colon + 1);
  query.fields.push_back({text.substr(0, colon), value == std::string::npos ? "" : text.substr(value)});
  return {};
}

/// Empty: all is well.
std::string take_part(const QueryPart& part, AheadQuery& query) {
  if (part.name == "header") return take_field(part.value, query);
  if (part.name == "url") {
    query.url = part.value;
  } else if (part.name == "method") {
    query.method = part.value;
  } else if (part.name == "weight") {
    query.weight = units_in(part.value, kHeaviest);
    if (query.weight == 0) return not_in_bounds(part.name, kHeaviest);
  } else if (part.name == "cost") {
    query.cost = units_in(part.value, kDearest);
    if (query.cost == 0) return not_in_bounds(part.name, kDearest);
  } else {
    return "'" + part.name + "' is not known: there are url, method, weight, cost and header, and in a url & is %26";
  }
  return {};
}
}  // namespace

std::expected<AheadQuery, std::string> ahead_query(std::string_view target) {
  AheadQuery query;
  std::vector<std::string> taken;
  for (const QueryPart& part : query_parts(target)) {
    if (std::ranges::find(taken, part.name) != taken.end()) return std::unexpected(part.name + " stands twice");
    if (auto wrong = take_part(part, query); !wrong.empty()) return std::unexpected(std::move(wrong));
    if (part.name != "header") taken.push_back(part.name);
  }
  if (query.url.empty()) return std::unexpected("url is missing: /ahead?url=http://host/path");
  return query;
}

std::string ahead_json(const Ahead& ahead) {
  nlohmann::ordered_json json;
  json["upstream"] = ahead.upstream;
  json["route"] = text_or_null(ahead.route);
  if (ahead.permit) json["permit"] = true;
  json["waitMs"] = nullptr;
  if (ahead.wait) json["waitMs"] = std::round(static_cast<double>(ahead.wait->count()) / 100) / 10;
  json["limitedBy"] = text_or_null(ahead.limited_by);
  json["pending"] = ahead.pending;
  if (!ahead.refused.empty()) json["refused"] = ahead.refused;
  return json_text(json) + "\n";
}

}  // namespace penstock::observe
