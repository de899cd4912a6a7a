// SPDX-License-Identifier: Apache-2.0
// See event_stream.h.
#include "cost/event_stream.h"

#include <algorithm>
#include <utility>

namespace penstock::cost {
namespace {

constexpr std::string_view kMark = "\xef\xbb\xbf", kName = "data";

constexpr bool ends_line(char c) { return c == '\r' || c == '\n'; }

}  // namespace

EventStream::State EventStream::next(std::string_view& bytes, std::string_view& piece) {
  piece = {};
  skip_mark(bytes);
  while (!bytes.empty()) {
    const char c = bytes.front();
    const bool behind_return = std::exchange(had_return_, false);
    if (ends_line(c)) {
      bytes.remove_prefix(1);
      if (behind_return && c == '\n') continue;
      if (const auto state = end_line(c, piece); state != State::more) return state;
    } else if (part_ == Part::value || part_ == Part::other) {
      const auto line =
          bytes.substr(0, static_cast<std::size_t>(std::ranges::find_if(bytes, ends_line) - bytes.begin()));
      bytes.remove_prefix(line.size());
      if (part_ == Part::value) return piece = line, State::piece;
    } else if (part_ == Part::colon) {
      if (c == ' ') bytes.remove_prefix(1);
      part_ = Part::value;
    } else if (part_ == Part::line) {
      part_ = Part::field;
      matched_ = 0;
    } else if (matched_ == kName.size() && c == ':') {
      bytes.remove_prefix(1);
      part_ = Part::colon;
      if (begin_value(piece) == State::piece) return State::piece;
    } else if (matched_ < kName.size() && c == kName[matched_]) {
      bytes.remove_prefix(1);
      ++matched_;
    } else {
      part_ = Part::other;
    }
  }
  return State::more;
}

void EventStream::skip_mark(std::string_view& bytes) {
  while (part_ == Part::mark && !bytes.empty()) {
    if (bytes.front() == kMark[matched_]) {
      bytes.remove_prefix(1);
      if (++matched_ < kMark.size()) continue;
    } else if (matched_ > 0) {
      part_ = Part::other;  // a line that begins with a part of the mark has no name of ours
      return;
    }
    part_ = Part::line;
  }
}

EventStream::State EventStream::end_line(char c, std::string_view& piece) {
  had_return_ = c == '\r';
  const Part ended = std::exchange(part_, Part::line);
  if (ended == Part::line) {
    had_value_ = false;
    return State::over;
  }
  // A line `data` without a colon is one of empty data.
  return ended == Part::field && matched_ == kName.size() ? begin_value(piece) : State::more;
}

EventStream::State EventStream::begin_value(std::string_view& piece) {
  if (!std::exchange(had_value_, true)) return State::more;
  piece = "\n";
  return State::piece;
}

}  // namespace penstock::cost
