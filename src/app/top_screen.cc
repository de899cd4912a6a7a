// SPDX-License-Identifier: Apache-2.0
// See top_screen.h.
#include "app/top_screen.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "app/top_details.h"
#include "app/top_figures.h"
#include "app/top_rows.h"
#include "app/top_text.h"
#include "observe/state_words.h"

namespace penstock::app {

namespace {

constexpr std::size_t kHash = 6;     // digits of the configuration's that are shown
constexpr std::size_t kFilter = 12;  // cells of the filter's that are shown, so that the line fits 80
constexpr std::array<const char*, 3> kSorts{"waiting", "rate", "name"};

constexpr std::array<std::pair<const char*, const char*>, 9> kKeys{{{"s", "sort by what waits, by rate, by name"},
                                                                    {"/", "show only names and states with this text"},
                                                                    {"Enter", "details of the selected row, and back"},
                                                                    {"j k arrows", "select a row; scroll the details"},
                                                                    {"PgUp PgDn", "ten at a time"},
                                                                    {"Esc", "back; forget the filter"},
                                                                    {"p", "hold still what is shown, and go on"},
                                                                    {"?", "this help"},
                                                                    {"q", "quit"}}};

using Lines = std::vector<TopLine>;

TopLine line_of(const std::string& text, std::size_t columns, Ink ink = Ink::plain) {
  return {{{ink, in_cells(text, columns)}}};
}

Span state_of(const ShownStatus& status) {
  if (!status.draining) return {Ink::plain, kUnknown};
  return *status.draining ? Span{Ink::warn, "● draining"} : Span{Ink::good, "● ready"};
}

/// A name says something only where there are several.
Span redis_of(const ShownStatus& status) {
  if (status.redis.empty()) return {Ink::plain, "no Redis"};
  std::string text = "Redis ";
  bool well = true;
  for (const auto& redis : status.redis) {
    if (status.redis.size() > 1) text += (&redis == &status.redis.front() ? "" : "; ") + redis.told.name + " ";
    text += redis.up ? observe::redis_in_words(redis.told) : kUnknown;
    well = well && redis.up == true && !redis.told.degraded && redis.told.limits_differ.empty();
  }
  return {well ? Ink::plain : Ink::warn, text};
}

Span config_of(const TopNews& news) {
  const auto& status = news.status;
  const auto age =
      status.loaded_at.value_or(0) > 0 ? Figure(std::max(0.0, news.now - *status.loaded_at) * 1000) : std::nullopt;
  const auto hash = status.config_hash.empty() ? std::string(kUnknown) : status.config_hash.substr(0, kHash);
  const bool failed = !status.reload_errors.empty();
  return {failed ? Ink::warn : Ink::plain, "config " + hash + ", " + (age ? time_span(age) + " ago" : kUnknown) +
                                               (failed ? ", the last reload FAILED" : "")};
}

/// What holds for the whole process: on one line, or on two where it needs them.
Lines heading(const TopNews& news, std::size_t columns) {
  const auto& status = news.status;
  const std::array<Span, 6> items{state_of(status),
                                  Span{Ink::bold, "penstock " + (status.version.empty() ? kUnknown : status.version)},
                                  Span{Ink::plain, status.listen.empty() ? kUnknown : status.listen},
                                  Span{Ink::plain, "clients " + amount(status.connections)},
                                  redis_of(status),
                                  config_of(news)};
  Lines lines{{}};
  std::size_t used = 0;
  for (const auto& item : items) {
    if (used > 0 && used + 3 + cells_of(item.text) > columns && lines.size() < 2) {
      lines.push_back({});
      used = 0;
    }
    const std::string text = (used == 0 ? " " : "   ") + item.text;
    lines.back().spans.push_back({item.ink, in_cells(text, std::min(cells_of(text), columns - used))});
    used += cells_of(lines.back().spans.back().text);
  }
  return lines;
}

std::string trouble_of(const TopNews& news) {
  return " NO ANSWER: " + news.trouble + "; what is shown is " + time_span(1000 * news.age) + " old";
}

std::string footing(const TopNews& news, const TopView& view) {
  using Page = TopView::Page;
  const std::string held = view.held ? "HELD STILL, p goes on  " : "";
  if (view.page == Page::filter) return " /" + safe_text(view.filter) + "_  Enter keep  Esc forget";
  if (view.page == Page::help) return " any key goes back  q quit";
  if (view.page == Page::details) return " " + held + "Enter back  j k scroll  p hold  q quit  ? help";
  const std::string keys =
      " " + held + "q quit  ? help  s sort: " + kSorts[static_cast<std::size_t>(view.sort)] + "  / filter";
  const std::string rest = "  Enter details  p hold";
  const auto all = news.status.upstreams.size();
  if (view.filter.empty()) return keys + rest + "  " + std::to_string(all) + (all == 1 ? " upstream" : " upstreams");
  const auto filter = safe_text(view.filter);
  return keys + ": " + in_cells(filter, std::min(cells_of(filter), kFilter)) + ", " +
         std::to_string(rows_of(news.status, view).size()) + " of " + std::to_string(all) + rest;
}

Lines help(std::size_t columns) {
  Lines lines{line_of(" What the keys do", columns, Ink::bold), line_of("", columns)};
  for (const auto& [key, what] : kKeys) lines.push_back(line_of("  " + in_cells(key, 12) + what, columns));
  lines.push_back(line_of("", columns));
  lines.push_back(line_of(" out/s is of the last ten seconds, 429s and percentiles are of the last minute.", columns));
  lines.push_back(line_of(" 429s are those that the API itself gave. – is not known.", columns));
  return lines;
}

/// From the first row on, or so far on that the selected one has a place.
Lines list(const TopNews& news, const TopView& view, std::size_t columns, std::size_t room) {
  const auto rows = rows_of(news.status, view);
  const auto table = table_for(rows, columns);
  Lines lines{table_head(table)};
  if (rows.empty()) {
    lines.push_back(
        line_of(news.status.upstreams.empty() ? "   no upstream yet" : "   nothing fits the filter", columns));
    return lines;
  }
  std::vector<Lines> drawn;
  const auto selected = selected_of(rows, view);
  for (std::size_t at = 0; at < rows.size() && (at <= selected || at < room); ++at) {
    drawn.push_back(row_of(*rows[at], table, at == selected));
  }
  std::size_t first = selected, height = drawn[selected].size();
  while (first > 0 && height + drawn[first - 1].size() < room) height += drawn[--first].size();
  for (std::size_t at = first; at < drawn.size() && lines.size() < room; ++at) {
    for (auto& line : drawn[at]) lines.push_back(std::move(line));
  }
  return lines;
}

Lines details(const TopNews& news, const TopView& view, std::size_t columns, std::size_t room) {
  const auto rows = rows_of(news.status, view);
  const auto found = std::ranges::find(
      rows, view.selected, [](const auto* one) -> const auto& { return one->name; });
  if (found == rows.end()) return {line_of(" " + view.selected + " is gone", columns)};
  auto lines = details_of(**found, news.status.details_why, columns);
  const auto most = lines.size() - std::min(lines.size(), room);
  lines.erase(lines.begin(), lines.begin() + static_cast<std::ptrdiff_t>(std::min(view.scrolled, most)));
  return lines;
}

Lines page(const TopNews& news, const TopView& view, std::size_t columns, std::size_t room) {
  if (view.page == TopView::Page::help) return help(columns);
  if (view.page == TopView::Page::details) return details(news, view, columns, room);
  return list(news, view, columns, room);
}

}  // namespace

std::vector<TopLine> top_screen(const TopNews& news, const TopView& view, const TopSize& size) {
  if (size.columns < kLeastColumns || size.rows < kLeastRows) {
    const auto is = std::to_string(size.columns) + " x " + std::to_string(size.rows);
    Lines lines{line_of("penstock top needs 80 x 24, this is " + is + "; q quits", size.columns)};
    lines.resize(std::max<std::size_t>(size.rows, 1));
    return lines;
  }
  auto lines = heading(news, size.columns);
  if (!news.trouble.empty()) lines.push_back(line_of(trouble_of(news), size.columns, Ink::bad));
  lines.push_back(line_of("", size.columns));
  const auto room = size.rows - lines.size() - 1;
  auto middle = page(news, view, size.columns, room);
  middle.resize(room);
  std::ranges::move(middle, std::back_inserter(lines));
  lines.push_back(line_of(footing(news, view), size.columns, Ink::dim));
  return lines;
}

std::vector<TopLine> top_lines(const TopNews& news, std::size_t columns) {
  auto lines = heading(news, columns);
  const auto rows = rows_of(news.status, {});
  const auto table = table_for(rows, columns);
  lines.push_back(table_head(table));
  for (const auto* one : rows) std::ranges::move(row_of(*one, table, false), std::back_inserter(lines));
  return lines;
}

}  // namespace penstock::app
