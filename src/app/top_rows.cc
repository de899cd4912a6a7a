// SPDX-License-Identifier: Apache-2.0
// See top_rows.h.
#include "app/top_rows.h"

#include <algorithm>
#include <array>
#include <utility>

#include "app/top_figures.h"
#include "app/top_text.h"

namespace penstock::app {

namespace {

constexpr std::size_t kWide = 132;    // what is happening stands in the row
constexpr std::size_t kWidest = 180;  // there are all columns
constexpr std::size_t kGap = 2;
constexpr double kNearlyFull = 0.8;

/// A column of figures.
struct Column {
  const char* title;
  std::size_t cells;
  std::size_t from;  // so wide a screen has it
  Side side;
  std::string (*text)(const ShownUpstream&);
};

std::string waiting(const ShownUpstream& one) {
  return bar(one.pending, one.max_pending, 8) + " " + in_cells(part_of(one.pending, one.max_pending), 9, Side::right);
}

/// Where there are only tunnels, these.
std::pair<Figure, Figure> flights_of(const ShownUpstream& one) {
  if (one.tunnels_only) return {one.busy_tunnels, one.max_tunnels};
  return {one.in_flight, one.max_concurrent};
}

std::string flying(const ShownUpstream& one) {
  const auto [busy, most] = flights_of(one);
  return part_of(busy, most);
}

std::string flying_with_bar(const ShownUpstream& one) {
  const auto [busy, most] = flights_of(one);
  return bar(busy, most, 8, "■", "□") + " " + in_cells(flying(one), 9, Side::right);
}

/// Of no request at all there is no percentile.
std::string wait_of(const ShownUpstream& one, Figure ShownTimes::*which) {
  return one.minute.wait.count == Figure(0) ? kUnknown : time_span(one.minute.wait.*which);
}

/// What is sent inside tunnels is not seen.
std::string sent(const ShownUpstream& one) { return one.tunnels_only ? kUnknown : rate_a_second(one.out_a_second); }

std::string p99_flight(const ShownUpstream& one) {
  return one.minute.flight.count == Figure(0) ? kUnknown : time_span(one.minute.flight.p99);
}

std::string refused_by_us(const ShownUpstream& one) {
  if (!one.minute.refused) return kUnknown;
  double sum = 0;
  for (const auto& [kind, count] : *one.minute.refused) sum += count;
  return amount(sum);
}

std::string open_tunnels(const ShownUpstream& one) {
  if (!one.busy_tunnels || !one.resting_tunnels) return kUnknown;
  return part_of(*one.busy_tunnels + *one.resting_tunnels, one.max_tunnels);
}

constexpr std::array<Column, 10> kColumns{{
    {"waiting", 18, 0, Side::left, waiting},
    {"in flight", 9, 0, Side::right, flying},
    {"in flight", 18, kWidest, Side::left, flying_with_bar},
    {"out/s", 6, 0, Side::right, sent},
    {"p50 wait", 8, kWidest, Side::right, [](const ShownUpstream& one) { return wait_of(one, &ShownTimes::p50); }},
    {"p99 wait", 8, 0, Side::right, [](const ShownUpstream& one) { return wait_of(one, &ShownTimes::p99); }},
    {"p99 flight", 10, kWidest, Side::right, p99_flight},
    {"429s", 5, 0, Side::right, [](const ShownUpstream& one) { return amount(their_429s(one)); }},
    {"refused", 7, kWidest, Side::right, refused_by_us},
    {"tunnels", 7, kWidest, Side::right, open_tunnels},
}};
constexpr std::size_t kNarrowFlight = 1, kWideFlight = 2;  // of these two there is one

template <typename Each>
void for_each_column(std::size_t columns, Each each) {
  for (std::size_t at = 0; at < kColumns.size(); ++at) {
    const bool other_flight = at == (columns >= kWidest ? kNarrowFlight : kWideFlight);
    if (!other_flight && columns >= kColumns[at].from) each(kColumns[at]);
  }
}

/// Of the margin, the names and the figures.
std::size_t cells_before_state(const TopTable& table) {
  std::size_t cells = 1 + table.name_cells;
  for_each_column(table.columns, [&](const Column& column) { cells += kGap + column.cells; });
  return cells;
}

Ink ink_of_figure(const ShownUpstream& one, const Column& column) {
  if (column.text == waiting) {
    const bool full = one.pending && one.max_pending && *one.pending > kNearlyFull * *one.max_pending;
    return full ? Ink::bad : Ink::plain;
  }
  const bool refused = column.title == std::string_view("429s") && their_429s(one).value_or(0) > 0;
  return refused ? Ink::warn : Ink::plain;
}

std::string limits_in_words(const ShownUpstream& one, std::size_t bar_cells) {
  std::string all;
  if (!one.limits) return all;
  for (const auto& limit : *one.limits) all += (all.empty() ? "" : " · ") + limit_line(limit, bar_cells);
  return all;
}

/// Where there is no room for it in the row: what is happening, then the limits.
TopLine second_line(const ShownUpstream& one, const TopTable& table) {
  const bool wide = table.columns >= kWide;
  const std::string state = wide ? "" : one.state;
  const auto limits = limits_in_words(one, wide ? 10 : 0);
  if (state.empty() && limits.empty()) return {};
  const std::size_t room = table.columns - 3;
  TopLine line{{{Ink::plain, "   "}}};
  line.spans.push_back({ink_of(one), in_cells(state, std::min(cells_of(state), room))});
  const auto between = state.empty() || limits.empty() ? "" : " · ";
  const auto rest = room - std::min(room, cells_of(state));
  line.spans.push_back({Ink::dim, in_cells(between + limits, rest)});
  return line;
}

}  // namespace

Figure their_429s(const ShownUpstream& upstream) {
  return upstream.tunnels_only ? std::nullopt : upstream.minute.upstream_429;
}

Ink ink_of(const ShownUpstream& upstream) {
  if (upstream.unreachable) return Ink::bad;
  return upstream.pause ? Ink::warn : Ink::plain;
}

TopTable table_for(const std::vector<const ShownUpstream*>& rows, std::size_t columns) {
  std::size_t longest = 0;
  for (const auto* one : rows) longest = std::max(longest, cells_of(one->name));
  const std::size_t most = columns >= kWidest ? 30 : columns >= kWide ? 24 : 18;
  return {columns, std::clamp<std::size_t>(longest, 8, most)};
}

TopLine table_head(const TopTable& table) {
  std::string text = " " + in_cells("upstream", table.name_cells);
  for_each_column(table.columns, [&](const Column& column) {
    text += std::string(kGap, ' ') + in_cells(column.title, column.cells, column.side);
  });
  if (table.columns >= kWide) text += std::string(kGap, ' ') + "what is happening";
  return {{{Ink::dim, in_cells(text, table.columns)}}};
}

std::vector<TopLine> row_of(const ShownUpstream& upstream, const TopTable& table, bool selected) {
  TopLine first{{{Ink::bold, (selected ? "›" : " ") + in_cells(upstream.name, table.name_cells)}}, selected};
  for_each_column(table.columns, [&](const Column& column) {
    first.spans.push_back({Ink::plain, std::string(kGap, ' ')});
    first.spans.push_back(
        {ink_of_figure(upstream, column), in_cells(column.text(upstream), column.cells, column.side)});
  });
  const std::size_t rest = table.columns - std::min(table.columns, cells_before_state(table));
  const bool wide = table.columns >= kWide;
  if (wide) first.spans.push_back({Ink::plain, std::string(kGap, ' ')});
  first.spans.push_back({ink_of(upstream), wide ? in_cells(upstream.state, rest - kGap) : std::string(rest, ' ')});
  std::vector<TopLine> lines{std::move(first)};
  if (auto second = second_line(upstream, table); !second.spans.empty()) lines.push_back(std::move(second));
  return lines;
}

}  // namespace penstock::app
