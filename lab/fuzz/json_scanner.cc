// SPDX-License-Identifier: Apache-2.0
// Bodies of requests and answers: however they are cut they are read alike; another library takes the same texts for
// JSON and finds the same values; and no cost that is read leaves its bounds.
#include "cost/json_scanner.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cost/estimate.h"
#include "fuzz/fuzz.h"

namespace penstock::fuzz {
namespace {

using cost::JsonPaths;
using cost::JsonScanner;
using Json = nlohmann::json;
using State = JsonScanner::State;

const std::vector<std::vector<std::string>> kKeys{{"a"}, {"a", "b"}, {"b"}, {"usage", "total_tokens"}};
constexpr const char* kModel = "model";

JsonPaths wanted() {
  JsonPaths paths;
  for (const auto& keys : kKeys) {
    std::string path;
    for (const auto& key : keys) path += (path.empty() ? "" : ".") + key;
    must(paths.add(path).has_value(), "these are paths");
  }
  must(paths.add_text(kModel).has_value(), "this is a path");
  return paths;
}

std::string told(const JsonScanner& scanner) {
  std::string text = std::to_string(static_cast<int>(scanner.state()));
  for (std::size_t i = 0; i < kKeys.size(); ++i) {
    const auto number = scanner.number(i);
    text += number ? " " + Json(*number).dump() : " -";
  }
  return text + (scanner.text() ? " '" + std::string(*scanner.text()) + "'" : "");
}

/// What the other library demands and the scanner leaves to the upstream: UTF-8, whole pairs, numbers within a double.
bool may_differ(std::string_view input) {
  const auto exponent = [&](std::size_t at) {
    const auto digits = input.find_first_not_of("+-0123456789", at + 1);
    return std::min(digits, input.size()) - at > 3;
  };
  for (std::size_t i = 0; i < input.size(); ++i) {
    const char c = input[i];
    if (static_cast<unsigned char>(c) >= 0x80 || c == '\0' || ((c == 'e' || c == 'E') && exponent(i))) return true;
    if (c == '\\' && input.substr(i + 1, 1) == "u" && (input.substr(i + 2, 1) == "d" || input.substr(i + 2, 1) == "D"))
      return true;
  }
  return input.size() > 300;  // a number of more than 300 digits
}

std::size_t depth_of(const Json& json) {
  std::size_t deepest = 0;
  if (!json.is_structured()) return 0;
  for (const auto& inner : json) deepest = std::max(deepest, depth_of(inner));
  return deepest + 1;
}

const Json* at(const Json& json, const std::vector<std::string>& keys) {
  const Json* found = &json;
  for (const auto& key : keys) {
    if (!found->is_object() || !found->contains(key)) return nullptr;
    found = &(*found)[key];
  }
  return found;
}

void compare(const Json& json, const JsonScanner& scanner, std::string_view input) {
  for (std::size_t i = 0; i < kKeys.size(); ++i) {
    const Json* const found = at(json, kKeys[i]);
    if (!found || !found->is_number() || input.size() > JsonScanner::kLongestNumber) continue;
    // That library knows the last of those that have one key; the scanner takes the largest.
    const auto number = scanner.number(i);
    must(number.has_value() && *number >= found->get<double>(), "a number is found", input, told(scanner));
  }
  const Json* const model = at(json, {kModel});
  if (!model || !model->is_string()) return;
  const auto& text = model->get_ref<const std::string&>();
  if (text.size() <= JsonScanner::kLongestText) must(scanner.text() == text, "the last text is found", input, text);
}

}  // namespace

void try_input(std::string_view input) {
  static const JsonPaths paths = wanted();
  JsonScanner whole(paths), cut(paths);
  whole.feed(input);
  in_pieces(input, [&](std::string_view piece) { return cut.feed(piece) != State::broken; });
  whole.finish(), cut.finish();
  must(told(whole) == told(cut), "however it is cut", told(whole), told(cut));

  cost::Amount amount;
  must(amount.add("json:a", cost::Side::request) && amount.add("openai", cost::Side::request), "these are entries");
  cost::EstimateReader estimate(amount, cost::BodyShape::json);
  estimate.feed(input);
  const int units = estimate.estimate({}).units;
  must(units >= 1 && units <= cost::kMostUnits, "an estimate is within its bounds", input);

  if (may_differ(input)) return;
  const Json json = Json::parse(input, nullptr, false);
  if (json.is_discarded()) return must(whole.state() != State::whole, "this is no JSON", input);
  if (depth_of(json) > JsonScanner::kDeepest) return must(whole.state() == State::broken, "this is too deep", input);
  must(whole.state() == State::whole, "this is JSON", input);
  compare(json, whole, input);
}

}  // namespace penstock::fuzz
