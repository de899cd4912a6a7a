// SPDX-License-Identifier: Apache-2.0
// See top_details.h.
#include "app/top_details.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "app/top_figures.h"
#include "app/top_rows.h"
#include "app/top_text.h"

namespace penstock::app {

namespace {

constexpr std::size_t kTitle = 14;         // cells of what stands before each line
constexpr std::size_t kRoomForBars = 120;  // columns
constexpr const char* kNotShown = "not shown";

/// In lines of so many cells, where it can be divided between two of its parts.
std::vector<std::string> wrapped(std::string_view text, std::size_t cells) {
  constexpr std::string_view kBetween = " · ";
  std::vector<std::string> lines{{}};
  while (!text.empty()) {
    const auto end = text.find(kBetween);
    const std::string part(text.substr(0, end));
    if (lines.back().empty()) {
      lines.back() += part;
    } else if (cells_of(lines.back()) + cells_of(kBetween) + cells_of(part) <= cells) {
      lines.back().append(kBetween).append(part);
    } else {
      lines.push_back("  " + part);
    }
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + kBetween.size());
  }
  return lines;
}

/// Lines with a title before the first of each kind.
class DetailLines {
 public:
  explicit DetailLines(std::size_t columns) : columns_(columns) {}

  void add(const std::string& title, const std::string& text, Ink ink = Ink::plain) {
    lines_.push_back({{{Ink::dim, " " + in_cells(title, kTitle)}, {ink, in_cells(text, columns_ - kTitle - 1)}}});
  }
  /// What is too long goes on below.
  void add(const std::string& title, const std::vector<std::string>& texts) {
    std::string before = title;
    for (const auto& text : texts) {
      for (const auto& line : wrapped(text, columns_ - kTitle - 1)) add(std::exchange(before, ""), line);
    }
  }
  std::vector<TopLine> take() { return std::move(lines_); }

 private:
  std::size_t columns_;
  std::vector<TopLine> lines_;
};

std::string times_in_words(const ShownTimes& times) {
  return "p50 " + time_span(times.p50) + " · p95 " + time_span(times.p95) + " · p99 " + time_span(times.p99) +
         " · max " + time_span(times.max) + " · of " + amount(times.count);
}

/// "200: 890 · 404: 3".
std::string counts_in_words(const std::optional<std::vector<std::pair<std::string, double>>>& counts) {
  if (!counts) return kNotShown;
  std::string all;
  for (const auto& [name, count] : *counts) all += (all.empty() ? "" : " · ") + name + ": " + amount(count);
  return all.empty() ? "none" : all;
}

std::string first_in_words(const ShownUpstream& one) {
  if (!one.head) return one.pending == Figure(0) ? "nothing waits" : kNotShown;
  const auto& head = *one.head;
  return "waits since " + time_span(head.since_ms) + " for " + (head.limited_by.empty() ? kUnknown : head.limited_by) +
         ", leaves in " + time_span(head.leaves_in_ms);
}

std::string pause_in_words(const ShownPause& pause) {
  const auto status = pause.status && *pause.status > 0 ? amount(pause.status) : std::string(kUnknown);
  return pause.state + " · " + time_span(pause.left_ms) + " left · status " + status +
         (pause.group.empty() ? "" : " · group " + pause.group);
}

std::vector<std::string> limits_in_lines(const std::vector<ShownLimit>& limits, std::size_t bar_cells) {
  std::vector<std::string> lines;
  for (const auto& limit : limits) {
    const bool has_kind = !limit.kind.empty() && limit.kind != limit.name;
    lines.push_back(limit_line(limit, bar_cells) + (has_kind ? " · " + limit.kind : "") +
                    (limit.shared ? " · shared" : "") + (limit.units ? " · " + amount(limit.units) + " departed" : "") +
                    (limit.would_wait ? " · " + amount(limit.would_wait) + " would have waited" : ""));
  }
  if (lines.empty()) lines.emplace_back("none");
  return lines;
}

std::vector<std::string> groups_in_lines(const ShownUpstream& one, const std::string& why) {
  if (!one.groups) return {why.empty() ? kNotShown : kNotShown + std::string(": ") + why};
  std::vector<std::string> lines;
  for (const auto& group : *one.groups) {
    std::string line = group.name + ": " + amount(group.pending) + " waiting";
    for (const auto& limit : group.limits) line += " · " + limit_line(limit, 0);
    lines.push_back(std::move(line));
  }
  if (lines.empty()) lines.emplace_back("none");
  return lines;
}

}  // namespace

std::vector<TopLine> details_of(const ShownUpstream& upstream, const std::string& why, std::size_t columns) {
  DetailLines lines(columns);
  lines.add("upstream", upstream.name, Ink::bold);
  if (!upstream.quota.empty())
    lines.add("quota", upstream.quota + ": its queue and limits are those of all that draw on it");
  lines.add("now", upstream.state, ink_of(upstream));
  lines.add("waiting",
            bar(upstream.pending, upstream.max_pending, 20) + " " + part_of(upstream.pending, upstream.max_pending));
  lines.add("the first", first_in_words(upstream));
  if (upstream.head) lines.add("the last", "leaves in " + time_span(upstream.head->last_leaves_in_ms));
  lines.add("in flight", bar(upstream.in_flight, upstream.max_concurrent, 20, "■", "□") + " " +
                             part_of(upstream.in_flight, upstream.max_concurrent));
  lines.add("tunnels", part_of(upstream.busy_tunnels, upstream.max_tunnels) + " busy · " +
                           amount(upstream.resting_tunnels) + " resting");
  const std::size_t bar_cells = columns < kRoomForBars ? 8 : 20;
  lines.add("limits",
            upstream.limits ? limits_in_lines(*upstream.limits, bar_cells) : std::vector<std::string>{kNotShown});
  if (upstream.pause) lines.add("pause", pause_in_words(*upstream.pause), Ink::warn);
  lines.add("last minute", amount(upstream.minute.out) + " out · their 429s: " + amount(their_429s(upstream)));
  lines.add("waits", times_in_words(upstream.minute.wait));
  lines.add("flights", times_in_words(upstream.minute.flight));
  lines.add("statuses", counts_in_words(upstream.minute.statuses));
  lines.add("refused by us", counts_in_words(upstream.minute.refused));
  lines.add("groups", groups_in_lines(upstream, why));
  return lines.take();
}

}  // namespace penstock::app
