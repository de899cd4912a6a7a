// SPDX-License-Identifier: Apache-2.0
// See event_feed.h. No line is written that could not be shown.
#include "observe/live/event_feed.h"

#include <algorithm>

#include "observe/event_log.h"

namespace penstock::observe {
namespace {

constexpr int kFirstError = 400;

bool matters_more(const Event& event) {
  return event.kind == EventKind::error || event.kind == EventKind::refused || event.status >= kFirstError;
}

std::string as_event(const std::string& lines, std::uint64_t dropped) {
  return "event: events\ndata: {\"lines\":[" + lines + "],\"dropped\":" + std::to_string(dropped) + "}\n\n";
}

}  // namespace

void EventFeed::record(const Event& event) {
  if (event.kind == EventKind::dispatch) return;
  const std::uint64_t number = seen_++;
  auto& [more, others] = lines_;
  auto& lines = matters_more(event) ? more : others;
  if (lines.size() >= kMost || (&lines == &others && more.size() >= kMost)) return;
  std::string line;
  write_json(line, event);
  if (bytes_ + line.size() > kMostBytes) return;
  line.pop_back();  // the line feed
  bytes_ += line.size();
  lines.emplace_back(number, std::move(line));
}

EventFeed::Second EventFeed::take() {
  if (seen_ == 0) return {};
  auto& [shown, others] = lines_;
  const std::size_t room = std::min(kMost - shown.size(), others.size());
  std::move(others.begin(), others.begin() + static_cast<std::ptrdiff_t>(room), std::back_inserter(shown));
  std::ranges::sort(shown, {}, &std::pair<std::uint64_t, std::string>::first);
  std::string lines;
  for (const auto& [number, line] : shown) lines += (lines.empty() ? "" : ",") + line;
  Second second{.text = std::make_shared<const std::string>(as_event(lines, seen_ - shown.size())), .count = seen_};
  shown.clear(), others.clear();
  bytes_ = 0, seen_ = 0;
  return second;
}

std::string EventFeed::dropped(std::uint64_t count) { return as_event({}, count); }

}  // namespace penstock::observe
