// SPDX-License-Identifier: Apache-2.0
// See event_line.h.
#include "replay/event_line.h"

#include <chrono>
#include <cmath>

#include "replay/json_object.h"

namespace penstock::replay {

namespace {

/// So many digits at the front, which are taken off; -1: there are others.
int take_digits(std::string_view& text, std::size_t count) {
  if (text.size() < count) return -1;
  int value = 0;
  for (const char c : text.substr(0, count)) {
    if (c < '0' || c > '9') return -1;
    value = value * 10 + (c - '0');
  }
  text.remove_prefix(count);
  return value;
}

bool take_mark(std::string_view& text, char mark) {
  if (text.empty() || text.front() != mark) return false;
  text.remove_prefix(1);
  return true;
}

/// Of a second, in µs; further digits are dropped. -1: not one.
Time take_fraction(std::string_view& text) {
  if (!take_mark(text, '.')) return 0;
  Time value = 0, unit = 100'000;
  std::size_t digits = 0;
  for (; digits < text.size() && text[digits] >= '0' && text[digits] <= '9'; ++digits, unit /= 10)
    value += (text[digits] - '0') * unit;
  text.remove_prefix(digits);
  return digits == 0 ? -1 : value;
}

std::optional<EventKind> kind_of(std::string_view name) {
  using enum EventKind;
  for (const auto kind : {dispatch, complete, error, refused, gone}) {
    if (name_of(kind) == name) return kind;
  }
  return std::nullopt;
}

/// Fills an event with members. A member that is not known is passed over; one of a wrong type or beyond its bounds
/// makes the line a bad one.
class Members {
 public:
  bool take(const JsonObject& member) {
    const auto key = member.key();
    if (member.is_null()) return true;
    if (key == "ts") return moment(member);
    if (key == "event") return event(member);
    if (key == "waitMs") return span(member, line.wait);
    if (key == "flightMs") return span(member, line.flight);
    if (key == "weight") return count(member, line.weight, kMostWeight);
    if (key == "attempts") return count(member, line.attempts, kMostAttempts);
    if (key == "status") return status(member);
    if (key == "tunnel") return flag(member, line.tunnel);
    if (key == "permit") return flag(member, line.permit);
    if (key == "upgrade") return line.upgrade = true, member.text().has_value();
    std::string_view* const text = text_of(key);
    return !text || take_text(member, *text);
  }
  bool sound() const { return has_moment_ && has_event_ && (!line.kind || !line.id.empty()); }

  EventLine line;

 private:
  std::string_view* text_of(std::string_view key) {
    if (key == "id") return &line.id;
    if (key == "upstream") return &line.upstream;
    if (key == "group") return &line.group;
    if (key == "route") return &line.route;
    if (key == "host") return &line.host;
    if (key == "path") return &line.path;
    return key == "refusal" ? &line.refusal : nullptr;
  }
  static bool take_text(const JsonObject& member, std::string_view& into) {
    const auto text = member.text();
    if (text) into = *text;
    return text.has_value();
  }
  bool moment(const JsonObject& member) {
    const auto text = member.text();
    const auto at = text ? read_moment(*text) : std::nullopt;
    if (at) line.at = *at;
    return has_moment_ = at.has_value();
  }
  bool event(const JsonObject& member) {
    const auto text = member.text();
    if (text) line.kind = kind_of(*text);
    return has_event_ = text.has_value();
  }
  static bool span(const JsonObject& member, std::optional<Time>& into) {
    const auto milliseconds = member.number();
    if (!milliseconds || !(*milliseconds >= 0) || *milliseconds > static_cast<double>(kLongestSpan / 1000))
      return false;
    into = static_cast<Time>(std::llround(*milliseconds * 1000));
    return true;
  }
  static bool count(const JsonObject& member, std::optional<int>& into, int most) {
    const auto number = member.number();
    if (!number || !(*number >= 1) || *number > most || *number != std::floor(*number)) return false;
    into = static_cast<int>(*number);
    return true;
  }
  bool status(const JsonObject& member) {
    const auto number = member.number();
    if (!number || !(*number >= 0) || *number > 999) return false;
    line.status = static_cast<int>(*number);
    return true;
  }
  static bool flag(const JsonObject& member, bool& into) {
    const auto truth = member.truth();
    into = truth.value_or(false);
    return truth.has_value();
  }

  bool has_moment_ = false, has_event_ = false;
};

}  // namespace

std::optional<Time> read_moment(std::string_view text) {
  namespace chrono = std::chrono;
  const int year = take_digits(text, 4);
  const int month = take_mark(text, '-') ? take_digits(text, 2) : -1;
  const int day = take_mark(text, '-') ? take_digits(text, 2) : -1;
  const int hour = take_mark(text, 'T') ? take_digits(text, 2) : -1;
  const int minute = take_mark(text, ':') ? take_digits(text, 2) : -1;
  const int second = take_mark(text, ':') ? take_digits(text, 2) : -1;
  const Time fraction = take_fraction(text);
  if (text != "Z" || year < 2000 || year > 2099 || month < 1 || day < 1 || fraction < 0) return std::nullopt;
  if (hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 59) return std::nullopt;
  const auto date = chrono::year{year} / month / day;
  if (!date.ok()) return std::nullopt;
  const Time days = chrono::sys_days{date}.time_since_epoch().count();
  return ((days * 24 + hour) * 60 + minute) * 60'000'000 + second * Time{1'000'000} + fraction;
}

std::optional<EventLine> read_event(std::string_view line, std::string& room) {
  JsonObject object(line, room);
  Members members;
  while (object.next()) {
    if (!members.take(object)) return std::nullopt;
  }
  return object.whole() && members.sound() ? std::optional(members.line) : std::nullopt;
}

}  // namespace penstock::replay
