// SPDX-License-Identifier: Apache-2.0
// An event log that anybody may have written, and its replay: however the bytes are cut they are read alike, a second
// reader of JSON reads the same members, no number leads beyond its bounds, and every request has an end.
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <string>

#include "fuzz/fuzz.h"
#include "replay/comparison.h"
#include "replay/event_log_reader.h"
#include "replay/json_object.h"

namespace penstock::fuzz {
namespace {

using namespace std::chrono_literals;
using replay::EventLine;
using replay::RequestLog;

bool is_nested_deeply(std::string_view line) {
  return std::ranges::count_if(line, [](char c) { return c == '[' || c == '{'; }) > replay::JsonObject::kDeepest;
}

/// Its last member of each name counts in both readers. The other one takes a NUL for the end, and skips a mark of the
/// order of bytes.
void check_json(std::string_view line) {
  if (line.contains('\0') || line.starts_with("\xEF\xBB\xBF")) return;
  const auto second = nlohmann::json::parse(line, nullptr, false);
  if (!second.is_object() || is_nested_deeply(line)) return;
  std::string room;
  replay::JsonObject object(line, room);
  nlohmann::json first = nlohmann::json::object();
  while (object.next()) {
    auto& member = first[std::string(object.key())];
    member = nullptr;
    if (const auto text = object.text()) member = std::string(*text);
    if (const auto number = object.number()) member = *number;
    if (const auto truth = object.truth()) member = *truth;
  }
  must(object.whole(), "what is an object for others is one here", line);
  must(first.size() == second.size(), "it has the same members", line);
  for (const auto& [name, value] : second.items()) {
    must(first.contains(name), "it has that member", line, name);
    if (value.is_string() || value.is_boolean()) must(first[name] == value, "a member is the same", line, name);
    if (!value.is_number()) continue;
    must(first[name].is_number() && first[name].get<double>() == value.get<double>(), "a number is the same", line,
         name);
  }
}

void check_line(std::string_view line) {
  check_json(line);
  std::string room;
  const auto event = replay::read_event(line, room);
  if (!event) return;
  must(event->at >= 946'684'800'000'000 && event->at < 4'102'444'800'000'000, "a moment is of this century", line);
  for (const auto& span : {event->wait, event->flight})
    must(!span || (*span >= 0 && *span <= replay::kLongestSpan), "a span has bounds", line);
  must(!event->weight || (*event->weight >= 1 && *event->weight <= replay::kMostWeight), "a weight has bounds", line);
  must(!event->attempts || *event->attempts >= 1, "attempts are some", line);
}

/// Of the first byte of an id, so that the fuzzer may choose.
replay::Place place_of(const EventLine& event) {
  const auto chosen = static_cast<unsigned char>(event.id.front());
  return {.group = chosen % 3U, .upstream = chosen / 4U % 2U};
}

std::string told(const RequestLog& log) {
  std::string text = std::to_string(log.events) + " " + std::to_string(log.bad_lines) + "\n";
  for (const auto& request : log.requests) {
    text += std::to_string(request.arrived) + " " + std::to_string(request.wait) + " " +
            std::to_string(request.flight) + " " + std::string(name_of(request.fate)) + "\n";
  }
  return text;
}

template <typename Feed>
void read(RequestLog& log, Feed feed) {
  replay::EventLogReader reader(log, {place_of}, 2000);
  reader.begin("log");
  feed(reader);
  reader.end();
}

UpstreamSettings settings_of(unsigned choice) {
  UpstreamSettings settings;
  settings.max_concurrent = 1 + static_cast<int>(choice % 4);
  settings.queue.max_pending = choice % 8;
  settings.queue.max_wait = choice % 16 == 0 ? Duration{1h} : Duration{2s};
  const auto per = choice % 32 < 16 ? LimitConfig::Per::upstream : LimitConfig::Per::group;
  const auto mode = choice % 64 < 32 ? LimitConfig::Mode::delay : LimitConfig::Mode::refuse;
  const LimitConfig::Kind kinds[] = {PacerConfig{.qps = 3},
                                     WindowConfig{.reservoir = 5, .interval = 1s},
                                     SlidingWindowConfig{.max = 4, .interval = 700ms},
                                     TokenBucketConfig{.capacity = 6, .refill_amount = 2, .refill_frequency = 300ms},
                                     SemaphoreConfig{.capacity = 2},
                                     CounterConfig{.max = 7, .period = 1min},
                                     AdaptiveConfig{.max = 20}};
  settings.limits.push_back({.kind = kinds[choice % std::size(kinds)], .per = per, .mode = mode});
  return settings;
}

void check_replay(const RequestLog& log, unsigned choice) {
  const UpstreamSettings first = settings_of(choice), second = settings_of(choice / 2 + 3);
  const replay::Side side{{{.name = "a", .settings = &first, .quota = Rate{3, 1s}}, {.name = "b", .settings = &second}},
                          &log.places[0]};
  const auto comparison = replay::compare(log, side, &side);
  std::uint64_t requests = 0;
  for (const auto& upstream : comparison.upstreams) {
    requests += upstream.requests;
    for (const auto* figures : {&upstream.logged, &*upstream.by_old, &upstream.by_new}) {
      std::uint64_t ends = 0;
      for (const auto count : figures->fates) ends += count;
      must(ends == upstream.requests, "every request has one end");
      must(figures->waits.p50 >= 0 && figures->waits.p50 <= figures->waits.max, "waits are in order");
    }
    const auto& settings = upstream.name == "a" ? first : second;
    must(upstream.by_new.waits.max <= settings.queue.max_wait.count(), "nothing waits longer than it may");
  }
  must(requests == log.size(), "every request is at one upstream");
  const auto words = replay::in_words(comparison, log);
  must(std::ranges::all_of(words, [](char c) { return c == '\n' || (c >= ' ' && c <= '~'); }), "words are printable",
       words);
  must(in_json(comparison, log) == in_json(replay::compare(log, side, &side), log), "it comes to the same again");
}

}  // namespace

void try_input(std::string_view input) {
  Choices choices(input);
  const unsigned choice = choices.byte();
  const std::string_view text = choices.rest();
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find('\n', at), text.size());
    check_line(text.substr(at, end - at));
    at = end + 1;
  }
  RequestLog whole, cut;
  read(whole, [&](auto& reader) { reader.read(text); });
  read(cut, [&](auto& reader) { in_pieces(text, [&](std::string_view piece) { return reader.read(piece); }); });
  must(told(whole) == told(cut), "however it is cut", told(whole), told(cut));
  if (whole.size() > 0) check_replay(whole, choice);
}

}  // namespace penstock::fuzz
