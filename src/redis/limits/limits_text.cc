// SPDX-License-Identifier: Apache-2.0
// Texts for people, and a hash of them.
#include "redis/limits/limits_text.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <iterator>
#include <string_view>
#include <utility>
#include <variant>

#include "flow/group_hash.h"

namespace penstock::redis {

namespace {

constexpr std::size_t kHashDigits = 8;  // of 16: short, since it is part of every entry in a line

/// In the largest unit in which the number is whole.
std::string in_unit(Duration time) {
  constexpr std::array<std::pair<std::int64_t, const char*>, 6> kUnits{
      {{86'400'000'000, "d"}, {3'600'000'000, "h"}, {60'000'000, "m"}, {1'000'000, "s"}, {1'000, "ms"}, {1, "us"}}};
  const auto unit = std::ranges::find_if(kUnits, [&](const auto& one) { return time.count() % one.first == 0; });
  return std::to_string(time.count() / unit->first) + unit->second;
}

std::string parameters(const PacerConfig& pacer) {
  return "qps: " + spelt(pacer.qps) + ", maxBurst: " + std::to_string(pacer.max_burst) +
         ", burstAllowanceFactor: " + spelt(pacer.burst_allowance_factor);
}
std::string parameters(const WindowConfig& window) {
  return "reservoir: " + std::to_string(window.reservoir) + ", interval: " + in_unit(window.interval) +
         (window.spread ? ", spread: true" : "");
}
std::string parameters(const SlidingWindowConfig& window) {
  return "max: " + std::to_string(window.max) + ", interval: " + in_unit(window.interval);
}
std::string parameters(const TokenBucketConfig& bucket) {
  return "capacity: " + std::to_string(bucket.capacity) + ", refillAmount: " + std::to_string(bucket.refill_amount) +
         ", refillFrequency: " + in_unit(bucket.refill_frequency);
}
std::string parameters(const SemaphoreConfig& semaphore) {
  return "capacity: " + std::to_string(semaphore.capacity) + ", lease: " + in_unit(semaphore.lease);
}
std::string parameters(const CounterConfig& counter) {
  return "max: " + std::to_string(counter.max) + ", period: " + in_unit(counter.period);
}
std::string parameters(const AdaptiveConfig& adaptive) {
  return "min: " + spelt(adaptive.min) + "/s, max: " + spelt(adaptive.max) + "/s";
}

std::string in_words(const LimitConfig& limit) {
  std::string text(limit_key(limit.kind));
  text += " { " + std::visit([](const auto& kind) { return parameters(kind); }, limit.kind);
  if (limit_name(limit) != limit_key(limit.kind)) text.append(", name: ").append(limit_name(limit));
  if (!limit.unit.empty()) text += ", unit: " + limit.unit;
  if (limit.per == LimitConfig::Per::group) text += ", per: group";
  if (!limit.route.empty()) text += ", route: " + limit.route;
  return text + " }";
}

std::string place_of_this_process() {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  std::string place(host.data());
  std::erase_if(place, [](unsigned char c) { return c <= ' ' || c >= 127 || c == '/'; });
  return (place.empty() ? "?" : place) + "/" + std::to_string(::getpid());
}

}  // namespace

std::string spelt(double number) {
  char digits[32];
  return {digits, std::to_chars(digits, std::end(digits), number).ptr};
}

std::string text_of(const std::vector<LimitConfig>& limits) {
  std::vector<std::pair<std::string_view, std::string>> all;
  for (const LimitConfig& limit : limits) {
    if (limit.shared) all.emplace_back(limit_name(limit), in_words(limit));
  }
  std::ranges::sort(all);
  std::string text;
  for (const auto& [name, words] : all) text.append(text.empty() ? "" : ", ").append(words);
  return text;
}

std::string hash_of(const std::vector<LimitConfig>& limits) {
  const auto digits = flow::GroupHash::digits_of(base::sip_hash({}, text_of(limits)));
  return {digits.data(), kHashDigits};
}

std::string make_limits_report(const std::vector<LimitConfig>& limits) {
  static const std::string kPlace = place_of_this_process();
  return hash_of(limits) + " " + kPlace + " " + text_of(limits);
}

std::string describe_limits_report(std::string_view report) {
  constexpr std::size_t kLongestPlace = 200, kLongestText = 1000;
  const auto word = [&report](std::size_t longest, bool is_last) {
    const std::string_view text = report.substr(0, is_last ? std::string_view::npos : report.find(' '));
    report.remove_prefix(std::min(text.size() + 1, report.size()));
    return std::string(text.substr(0, longest));
  };
  word(0, false);  // skip the hash
  const std::string place = word(kLongestPlace, false);
  std::string words = place + " has " + word(kLongestText, true);
  std::ranges::replace_if(
      words, [](unsigned char c) { return c < ' ' || c >= 127; }, '?');
  return words;
}

}  // namespace penstock::redis
