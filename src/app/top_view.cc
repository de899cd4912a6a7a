// SPDX-License-Identifier: Apache-2.0
// See top_view.h.
#include "app/top_view.h"

#include <algorithm>
#include <cctype>
#include <tuple>

namespace penstock::app {

namespace {

constexpr std::size_t kPage = 10, kLongestFilter = 200;

bool contains_any_case(std::string_view text, std::string_view part) {
  const auto same = [](unsigned char a, unsigned char b) { return std::tolower(a) == std::tolower(b); };
  return std::ranges::search(text, part, same).begin() != text.end() || part.empty();
}

bool comes_before(const ShownUpstream& a, const ShownUpstream& b, TopView::Sort sort) {
  const auto rank = [&](const ShownUpstream& one) {
    const Figure by = sort == TopView::Sort::waiting ? one.pending : one.out_a_second;
    return std::pair(sort == TopView::Sort::name ? 0 : -by.value_or(-1), std::string_view(one.name));
  };
  return rank(a) < rank(b);
}

void select(TopView& view, const ShownStatus& status, std::ptrdiff_t by) {
  const auto rows = rows_of(status, view);
  if (rows.empty()) return;
  const auto last = static_cast<std::ptrdiff_t>(rows.size()) - 1;
  const auto from = static_cast<std::ptrdiff_t>(selected_of(rows, view));
  const auto to = std::clamp<std::ptrdiff_t>(by > last || by < -last ? (by > 0 ? last : 0) : from + by, 0, last);
  view.selected = rows[static_cast<std::size_t>(to)]->name;
}

/// How far a key moves; 0: it does not.
std::ptrdiff_t step_of(const Key& key) {
  constexpr std::ptrdiff_t kFar = 1'000'000'000;
  switch (key.kind) {
    case Key::Kind::up: return -1;
    case Key::Kind::down: return 1;
    case Key::Kind::page_up: return -static_cast<std::ptrdiff_t>(kPage);
    case Key::Kind::page_down: return kPage;
    case Key::Kind::first: return -kFar;
    case Key::Kind::last: return kFar;
    default: return key.text == "k" ? -1 : key.text == "j" ? 1 : 0;
  }
}

void write_filter(TopView& view, const Key& key) {
  using enum Key::Kind;
  auto& filter = view.filter;
  if (key.kind == enter || key.kind == escape) view.page = TopView::Page::list;
  if (key.kind == escape || key.kind == clear) filter.clear();
  if (key.kind == text && filter.size() < kLongestFilter) filter += key.text;
  if (key.kind != back) return;
  while (!filter.empty() && (filter.back() & 0xc0) == 0x80) filter.pop_back();
  if (!filter.empty()) filter.pop_back();
}

void open_details(TopView& view, const ShownStatus& status) {
  const auto rows = rows_of(status, view);
  if (rows.empty()) return;
  view.selected = rows[selected_of(rows, view)]->name;
  view.page = TopView::Page::details;
  view.scrolled = 0;
}

void press_in_list(TopView& view, const Key& key, const ShownStatus& status) {
  using Sort = TopView::Sort;
  if (key.kind == Key::Kind::enter) open_details(view, status);
  if (key.kind == Key::Kind::escape) view.filter.clear();
  if (key.text == "/") view.page = TopView::Page::filter;
  if (key.text == "s") {
    view.sort = view.sort == Sort::waiting ? Sort::rate : view.sort == Sort::rate ? Sort::name : Sort::waiting;
  }
  if (const auto step = step_of(key); step != 0) select(view, status, step);
}

void press_in_details(TopView& view, const Key& key) {
  if (key.kind == Key::Kind::enter || key.kind == Key::Kind::escape) view.page = TopView::Page::list;
  const auto to = static_cast<std::ptrdiff_t>(view.scrolled) + step_of(key);
  view.scrolled = static_cast<std::size_t>(std::max<std::ptrdiff_t>(0, to));
}

}  // namespace

std::vector<const ShownUpstream*> rows_of(const ShownStatus& status, const TopView& view) {
  std::vector<const ShownUpstream*> rows;
  for (const auto& one : status.upstreams) {
    if (contains_any_case(one.name, view.filter) || contains_any_case(one.state, view.filter)) rows.push_back(&one);
  }
  std::ranges::sort(rows, [&](const auto* a, const auto* b) { return comes_before(*a, *b, view.sort); });
  return rows;
}

std::size_t selected_of(const std::vector<const ShownUpstream*>& rows, const TopView& view) {
  const auto found = std::ranges::find(
      rows, view.selected, [](const auto* one) -> const auto& { return one->name; });
  return found == rows.end() ? 0 : static_cast<std::size_t>(found - rows.begin());
}

bool press(TopView& view, const Key& key, const ShownStatus& status) {
  using Page = TopView::Page;
  if (view.page == Page::filter) return write_filter(view, key), false;
  if (key.text == "q") return true;
  if (view.page == Page::help) return view.page = Page::list, false;
  if (key.text == "?") return view.page = Page::help, false;
  if (key.text == "p") return view.held = !view.held, false;
  if (view.page == Page::details) return press_in_details(view, key), false;
  return press_in_list(view, key, status), false;
}

}  // namespace penstock::app
