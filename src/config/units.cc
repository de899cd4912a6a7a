// SPDX-License-Identifier: Apache-2.0
// See units.h.
#include "config/units.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "base/duration_text.h"

namespace penstock::config {

namespace {

struct Unit {
  std::string_view name;
  std::uint64_t worth;
};

constexpr Unit kSizes[] = {{"GiB", 1ULL << 30}, {"MiB", 1ULL << 20}, {"KiB", 1ULL << 10}, {"B", 1}};  // largest first

constexpr std::uint64_t kLargestCount = 1'000'000'000'000'000;
constexpr double kLargestSize = static_cast<double>(1ULL << 50);

constexpr std::pair<std::string_view, Duration> kRates[] = {{"s", 1s}, {"m", 1min}, {"h", 1h}, {"d", 24h}};

constexpr double seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

}  // namespace

std::optional<std::uint64_t> parse_count(std::string_view text) {
  if (text.size() > 1 && text.front() == '0') return std::nullopt;
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value > kLargestCount) return std::nullopt;
  return value;
}

std::optional<double> parse_number(std::string_view text) {
  if (text.empty() || text.front() == '.' || text.back() == '.') return std::nullopt;
  if (text.find_first_not_of("0123456789.") != std::string_view::npos) return std::nullopt;
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value > static_cast<double>(kLargestCount) ? std::nullopt : std::optional(value);
}

std::optional<std::uint64_t> parse_size(std::string_view text) {
  const auto unit_at = text.find_first_not_of("0123456789.");
  if (unit_at == std::string_view::npos) return std::nullopt;
  const auto number = parse_number(text.substr(0, unit_at));
  for (const auto& unit : kSizes) {
    if (!number || unit.name != text.substr(unit_at)) continue;
    const double bytes = *number * static_cast<double>(unit.worth);
    if (bytes > kLargestSize || bytes != std::floor(bytes)) return std::nullopt;
    return static_cast<std::uint64_t>(bytes);
  }
  return std::nullopt;
}

/// A minute reads better as 60s, a day as 24h.
std::string write_duration(Duration duration) { return base::duration_text(duration, 2); }

std::string write_size(std::uint64_t bytes) {
  const auto* unit = std::begin(kSizes);
  while (bytes % unit->worth != 0 || bytes < unit->worth) {
    if (++unit == std::end(kSizes)) return "0B";
  }
  return std::to_string(bytes / unit->worth) + std::string(unit->name);
}

std::optional<Rate> parse_rate(std::string_view text) {
  const auto slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const auto count = parse_number(text.substr(0, slash));
  const auto unit_text = text.substr(slash + 1);
  const auto* const unit = std::ranges::find(kRates, unit_text, [](const auto& known) { return known.first; });
  const auto length = unit == std::end(kRates) ? parse_duration(unit_text) : std::optional(unit->second);
  if (!count || *count <= 0 || !length || length->count() <= 0) return std::nullopt;
  return Rate{*count, *length};
}

std::string write_number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

std::string write_rate(const Rate& rate) {
  const auto* const unit = std::ranges::find(kRates, rate.unit, [](const auto& known) { return known.second; });
  const auto length = unit == std::end(kRates) ? write_duration(rate.unit) : std::string(unit->first);
  return write_number(rate.count) + "/" + length;
}

std::string write_rate(double per_second) {
  const auto* unit = std::begin(kRates);
  while (unit->first != "h" && per_second * seconds(unit->second) < 1) ++unit;
  return write_number(per_second * seconds(unit->second)) + "/" + std::string(unit->first);
}

}  // namespace penstock::config
