// SPDX-License-Identifier: Apache-2.0
// Faults that cost the same share a row.
#include "simulation/allowances_page.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "simulation/allowances.h"

namespace penstock::simulation {

namespace {

constexpr std::array<std::string_view, 6> kKindNames{"pacer",       "window",    "slidingWindow",
                                                     "tokenBucket", "semaphore", "counter"};
constexpr std::pair<WhenDown, std::string_view> kModeNames[] = {
    {WhenDown::share, "share"}, {WhenDown::wait, "wait"}, {WhenDown::open, "open"}, {WhenDown::refuse, "refuse"}};

template <typename Value>
bool lists(const std::vector<Value>& all, Value one) {
  return std::ranges::find(all, one) != all.end();
}

std::string digits_of(double value) { return std::to_string(static_cast<int>(value)); }

std::string time_words(Time time) {
  return time % kSecond == 0 ? digits_of(static_cast<double>(time) / 1e6) + " s"
                             : digits_of(static_cast<double>(time) / 1e3) + " ms";
}

/// Appends with a separator between.
void append(std::string& text, const std::string& more, std::string_view between = ", ") {
  if (!more.empty()) text += (text.empty() ? "" : std::string(between)) + more;
}

std::string excess_words(const Allowance& allowance) {
  if (allowance.anything) return "everything";
  std::string text;
  if (allowance.whole > 0)
    append(text, allowance.whole == 1 ? "the whole once more" : digits_of(allowance.whole) + " wholes");
  if (allowance.part > 0) append(text, "the limit ÷ processes");
  if (allowance.each > 0) append(text, "a request for each process but one");
  if (allowance.refills > 0) append(text, digits_of(allowance.refills) + " refills");
  if (allowance.units > 0) append(text, digits_of(allowance.units) + " units");
  if (allowance.horizon) append(text, "what passes in 50 ms");
  if (allowance.unheard) append(text, "the unheard");
  return text;
}

std::string condition_words(Beyond beyond) {
  switch (beyond) {
    case Beyond::none:
    case Beyond::timeout: break;
    case Beyond::lease: return " (longer than a lease)";
    case Beyond::third_of_lease: return " (forward by more than a third of a lease)";
  }
  return "";
}

/// The first row that fits counts.
const AllowanceRow* row_for(WhenDown mode, Fault::Kind fault, LimitKind kind) {
  const auto fits = [&](const AllowanceRow& row) {
    return (row.modes.empty() || lists(row.modes, mode)) && lists(row.faults, fault) && lists(row.kinds, kind);
  };
  const auto found = std::ranges::find_if(allowance_table(), fits);
  return found == allowance_table().end() ? nullptr : &*found;
}

/// The excess, and the kinds of limits that have it.
std::string excess_by_kind(WhenDown mode, Fault::Kind fault) {
  std::vector<std::pair<std::string, std::string>> all;
  bool of_all = true;
  for (std::size_t i = 0; i < kKindNames.size(); ++i) {
    const AllowanceRow* row = row_for(mode, fault, static_cast<LimitKind>(i));
    of_all &= row != nullptr;
    if (!row) continue;
    const std::string what = excess_words(row->allowance) + condition_words(row->beyond),
                      kind = "`" + std::string(kKindNames[i]) + "`";
    const auto same = std::ranges::find(all, what, &std::pair<std::string, std::string>::first);
    if (same == all.end())
      all.emplace_back(what, kind);
    else
      append(same->second, kind);
  }
  std::string text;
  if (all.size() == 1 && of_all) return "any limit: " + all.front().first;
  for (const auto& [what, kinds] : all) append(text, kinds + ": " + what, "; ");
  return text.empty() ? "0" : text;
}

std::string use_words(WhenDown mode, Fault::Kind fault) {
  if (!may_be_outage(fault)) return "all";
  const auto part = least_use_without_redis(mode);
  if (!part) return "whatever is wanted";
  return *part == 0 ? "nothing" : digits_of(*part * 100) + " % of its part";
}

std::string recovery_of(Fault::Kind fault) {
  const Settling settling = settling_after(fault);
  const bool at_once = may_be_outage(fault) && !loses_memory(fault);
  std::string text = time_words(at_once ? kBackWithin : settling.rates);
  if (settling.leases == 0) return text;
  return text + "; permits: " + (settling.leases == 1 ? "a lease" : "half a lease") + " and " +
         time_words(settling.besides);
}

/// All three as words.
struct Costs {
  std::string excess, use, recovery;
  bool operator==(const Costs&) const = default;
};

/// What a fault costs, each with the modes in which it does.
std::vector<std::pair<Costs, std::string>> costs_of(Fault::Kind fault) {
  std::vector<std::pair<Costs, std::string>> all;
  for (const auto& [mode, name] : kModeNames) {
    const Costs costs{excess_by_kind(mode, fault), use_words(mode, fault), recovery_of(fault)};
    const auto same = std::ranges::find(all, costs, &std::pair<Costs, std::string>::first);
    append(same == all.end() ? all.emplace_back(costs, "").second : same->second, "`" + std::string(name) + "`");
  }
  if (all.size() == 1) all.front().second = "any";
  return all;
}

}  // namespace

std::string allowances_page() {
  struct Row {
    std::string faults, modes;
    Costs costs;
  };
  std::vector<Row> rows;
  for (int i = 0; i < kFaultKinds; ++i) {
    const auto fault = static_cast<Fault::Kind>(i);
    for (const auto& [costs, modes] : costs_of(fault)) {
      const auto same = std::ranges::find_if(rows, [&](auto& row) { return row.modes == modes && row.costs == costs; });
      append(same == rows.end() ? rows.emplace_back("", modes, costs).faults : same->faults,
             std::string(name_of(fault)), " · ");
    }
  }
  std::string text =
      "| Fault | `whenDown` | Over by, at most | Used meanwhile, at least | All of it again |\n|---|---|---|---|---|\n";
  for (const Row& row : rows) {
    text += "| " + row.faults + " | " + row.modes + " | " + row.costs.excess + " | " + row.costs.use + " | " +
            row.costs.recovery + " |\n";
  }
  return text;
}

}  // namespace penstock::simulation
