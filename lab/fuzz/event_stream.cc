// SPDX-License-Identifier: Apache-2.0
// Streams of events as upstreams send them: however they are cut they are read alike, a second reader, which has the
// whole stream before it, finds the same data, and usage is found without regard to cuts.
#include "cost/event_stream.h"

#include <optional>
#include <string>
#include <vector>

#include "cost/usage_reader.h"
#include "fuzz/fuzz.h"

namespace penstock::fuzz {
namespace {

using cost::EventStream;
using Events = std::vector<std::string>;

void read(EventStream& stream, std::string_view bytes, Events& into) {
  std::string_view piece;
  for (auto state = stream.next(bytes, piece); state != EventStream::State::more; state = stream.next(bytes, piece)) {
    if (state == EventStream::State::over) {
      into.emplace_back();
    } else {
      into.back() += piece;
    }
  }
  must(bytes.empty(), "all bytes are consumed");
}

/// Section 9.2.6 of the HTML standard, by whole lines.
Events second_reading(std::string_view rest) {
  if (rest.starts_with("\xef\xbb\xbf")) rest.remove_prefix(3);
  Events events{""};
  bool any = false;
  for (;;) {
    const auto end = rest.find_first_of("\r\n");
    if (end == std::string_view::npos) break;
    auto line = rest.substr(0, end);
    rest.remove_prefix(end + (rest.substr(end, 2) == "\r\n" ? 2 : 1));
    if (line.empty()) {
      events.emplace_back(), any = false;
      continue;
    }
    const auto colon = line.find(':');
    auto value = colon == std::string_view::npos ? std::string_view() : line.substr(colon + 1);
    if (value.starts_with(' ')) value.remove_prefix(1);
    if (line.substr(0, colon) != "data") continue;
    events.back() += (any ? "\n" : "") + std::string(value);
    any = true;
  }
  return events;
}

std::string told(const Events& events) {
  std::string text;
  for (const auto& event : events) text += "'" + event + "' ";
  return text;
}

}  // namespace

void try_input(std::string_view input) {
  Events whole{""}, cut{""};
  EventStream stream, cut_stream;
  read(stream, input, whole);
  in_pieces(input, [&](std::string_view piece) { return read(cut_stream, piece, cut), true; });
  must(whole == cut, "however it is cut", told(whole), told(cut));
  auto second = second_reading(input);
  must(whole.size() == second.size(), "a second reader counts the same events", told(whole), told(second));
  // Of the event that is not over the second reader knows whole lines alone.
  must(whole.back().starts_with(second.back()), "what was begun begins alike", told(whole), told(second));
  whole.back() = second.back();
  must(whole == second, "a second reader finds the same data", told(whole), told(second));

  cost::Amount amount;
  for (const char* entry : {"anthropic", "openai", "gemini"})
    must(amount.add(entry, cost::Side::response).has_value(), "these are entries");
  cost::UsageReader usage(amount, cost::BodyShape::events), cut_usage(amount, cost::BodyShape::events);
  usage.feed(input);
  in_pieces(input, [&](std::string_view piece) { return cut_usage.feed(piece), true; });
  must(usage.found() == cut_usage.found(), "usage is found however it is cut");
}

}  // namespace penstock::fuzz
