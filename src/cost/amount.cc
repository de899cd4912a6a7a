// SPDX-License-Identifier: Apache-2.0
// See amount.h. What vendors call their numbers stands in one table.
#include "cost/amount.h"

#include <algorithm>
#include <charconv>
#include <span>

#include "cost/json_scanner.h"

namespace penstock::cost {
namespace {

constexpr std::string_view kJson = "json:", kBytes = "bytes/";
constexpr double kBytesPerToken = 4;  // of English text, as vendors estimate it themselves

struct Preset {
  std::string_view name;
  Side side;
  /// A sum; each summand is the largest number of the paths that have commas between them.
  std::span<const std::string_view> sum;
};

// The most tokens that an answer may have; the body's own size is added.
constexpr std::string_view kOpenAiLimits[] = {"max_completion_tokens,max_tokens,max_output_tokens"};
constexpr std::string_view kAnthropicLimits[] = {"max_tokens"};
constexpr std::string_view kGeminiLimits[] = {
    "generationConfig.maxOutputTokens,generation_config.max_output_tokens,generationConfig.max_output_tokens,"
    "generation_config.maxOutputTokens"};
// Chat completions and embeddings have usage at the top, events of the Responses API within the response.
constexpr std::string_view kOpenAiUsage[] = {"usage.total_tokens,response.usage.total_tokens"};
// The first event of a stream has usage within the message, the last at the top; both count from the beginning.
// Tokens that are read from the cache do not count in Anthropic's limits.
constexpr std::string_view kAnthropicUsage[] = {
    "usage.input_tokens,message.usage.input_tokens",
    "usage.cache_creation_input_tokens,message.usage.cache_creation_input_tokens",
    "usage.output_tokens,message.usage.output_tokens"};
// A stream that is not one of events is an array of its parts.
constexpr std::string_view kGeminiUsage[] = {"usageMetadata.totalTokenCount,[].usageMetadata.totalTokenCount"};

constexpr Preset kPresets[] = {
    {"openai", Side::request, kOpenAiLimits},       {"anthropic", Side::request, kAnthropicLimits},
    {"gemini", Side::request, kGeminiLimits},       {"openai", Side::response, kOpenAiUsage},
    {"anthropic", Side::response, kAnthropicUsage}, {"gemini", Side::response, kGeminiUsage}};

}  // namespace

std::expected<void, std::string> Amount::add(std::string_view entry, Side side) {
  if (entry.starts_with(kJson)) return add_json(entry.substr(kJson.size()));
  if (entry.starts_with(kBytes)) return add_bytes(entry.substr(kBytes.size()), side);
  if (add_preset(entry, side)) return {};
  const std::string bytes = side == Side::request ? ", bytes/4" : "";
  return std::unexpected("is not one of json:PATH" + bytes + ", openai, anthropic, gemini");
}

std::expected<void, std::string> Amount::add_json(std::string_view text) {
  const auto path = paths_.add(text);
  if (!path) {
    return std::unexpected("is not a path of 1 to " + std::to_string(JsonPaths::kDeepest) +
                           " keys, as in json:usage.total_tokens, or there are more than " +
                           std::to_string(JsonPaths::kMost) + " paths");
  }
  entries_.push_back({.sum = {{*path}}});
  return {};
}

std::expected<void, std::string> Amount::add_bytes(std::string_view divisor, Side side) {
  if (side == Side::response) return std::unexpected("is of requests, and stands under estimate");
  double value = 0;
  const auto end = divisor.data() + divisor.size();
  const auto [behind, error] = std::from_chars(divisor.data(), end, value, std::chars_format::fixed);
  if (error != std::errc{} || behind != end || !(value >= 0.001 && value <= 1e9))
    return std::unexpected("is not bytes divided by a number from 0.001 to 1e9, as in bytes/4");
  entries_.push_back({.bytes_per_unit = value});
  return {};
}

bool Amount::add_preset(std::string_view name, Side side) {
  const auto* const preset =
      std::ranges::find_if(kPresets, [&](const Preset& one) { return one.name == name && one.side == side; });
  if (preset == std::end(kPresets)) return false;
  Entry entry{.bytes_per_unit = side == Side::request ? kBytesPerToken : 0};
  for (std::string_view rest : preset->sum) {
    auto& largest = entry.sum.emplace_back();
    while (!rest.empty()) {
      const auto path = paths_.add(rest.substr(0, rest.find(',')));
      if (!path) return false;
      largest.push_back(*path);
      rest.remove_prefix(std::min(rest.find(','), rest.size() - 1) + 1);
    }
  }
  entries_.push_back(std::move(entry));
  return true;
}

std::optional<Amount::Found> Amount::in(const JsonScanner& scanner, std::optional<std::uint64_t> bytes) const {
  for (std::size_t entry = 0; entry < entries_.size(); ++entry) {
    if (const auto units = units_of(entries_[entry], scanner, bytes)) return Found{*units, entry};
  }
  return std::nullopt;
}

std::optional<double> Amount::units_of(const Entry& entry, const JsonScanner& scanner,
                                       std::optional<std::uint64_t> bytes) const {
  std::optional<double> units;
  for (const Largest& paths : entry.sum) {
    std::optional<double> largest;
    for (const std::size_t path : paths) largest = std::max(largest, scanner.number(path));
    if (bytes && largest < 0.0) continue;
    if (largest) units = units.value_or(0) + *largest;
  }
  if (entry.bytes_per_unit > 0 && bytes) units = units.value_or(0) + static_cast<double>(*bytes) / entry.bytes_per_unit;
  return units;
}

}  // namespace penstock::cost
