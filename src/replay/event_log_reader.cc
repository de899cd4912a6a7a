// SPDX-License-Identifier: Apache-2.0
// See event_log_reader.h.
#include "replay/event_log_reader.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/sip_hash.h"

namespace penstock::replay {

namespace {

/// A kind that is not among the fates is about something else than queue and limits.
Fate refusal_of(const EventLine& event) {
  for (auto i = static_cast<std::size_t>(Fate::queue_full); i < kFateNames.size(); ++i) {
    if (kFateNames[i] == event.refusal) return static_cast<Fate>(i);
  }
  return Fate::other;
}

}  // namespace

EventLogReader::EventLogReader(RequestLog& log, std::vector<Placing> placings, std::uint64_t most_events)
    : log_(log), placings_(std::move(placings)), most_events_(most_events) {
  log_.places.resize(placings_.size());
}

void EventLogReader::begin(std::string file) {
  file_ = std::move(file);
  line_ = 1;
  begun_.clear();
  too_long_ = false;
  ++log_.files;
}

bool EventLogReader::read(std::string_view bytes) {
  while (!bytes.empty() && !log_.is_cut) {
    const auto end = bytes.find('\n');
    const auto piece = bytes.substr(0, end);
    const bool whole = end != std::string_view::npos;
    too_long_ = too_long_ || begun_.size() + piece.size() > kLongestLine;
    if (too_long_) {
      begun_.clear();
    } else if (!whole || !begun_.empty()) {
      begun_ += piece;
    }
    if (!whole) return true;
    take_line(begun_.empty() ? piece : std::string_view(begun_));
    begun_.clear();
    ++line_;
    bytes.remove_prefix(end + 1);
  }
  return !log_.is_cut;
}

void EventLogReader::end() {
  if (!log_.is_cut && (too_long_ || !begun_.empty())) take_line(begun_);
  begun_.clear();
}

void EventLogReader::take_line(std::string_view line) {
  if (std::exchange(too_long_, false)) return ++log_.lines, note_bad_line();
  if (line.find_first_not_of(" \t\r") == std::string_view::npos) return;
  log_.is_cut = log_.events == most_events_;
  if (log_.is_cut) return;
  ++log_.lines;
  const auto event = read_event(line, room_);
  if (!event || !take_event(*event)) note_bad_line();
}

void EventLogReader::note_bad_line() {
  ++log_.bad_lines;
  if (log_.first_bad_lines.size() < RequestLog::kShownBadLines) log_.first_bad_lines.push_back({file_, line_});
}

bool EventLogReader::take_event(const EventLine& event) {
  if (event.kind && !join(event)) return false;
  log_.first = log_.events == 0 ? event.at : std::min(log_.first, event.at);
  log_.last = std::max(log_.last, event.at);
  ++log_.events;
  return true;
}

/// False: what the line says was said before.
bool EventLogReader::join(const EventLine& event) {
  const auto hash = base::sip_hash({.first = 0x70656e73746f636b, .second = 0}, event.id);
  const auto known = index_.find_or_add(hash, static_cast<std::uint32_t>(log_.size()));
  if (!known) {
    log_.requests.emplace_back();
    for (std::size_t i = 0; i < placings_.size(); ++i) log_.places[i].push_back(placings_[i](event));
  }
  LoggedRequest& request = log_.requests[known.value_or(static_cast<std::uint32_t>(log_.size() - 1))];
  if (event.weight) request.weight = *event.weight, log_.has_weights = true;
  if (event.attempts) log_.has_attempts = true;
  request.tunnel = request.tunnel || event.tunnel || event.upgrade;
  switch (*event.kind) {
    case EventKind::dispatch: return take_off(event, request, !known);
    case EventKind::complete:
    case EventKind::error: return land(event, request, !known);
    default: return !known && leave(event, request);
  }
}

bool EventLogReader::take_off(const EventLine& event, LoggedRequest& request, bool is_new) const {
  if (request.dispatched || (!is_new && request.fate != Fate::sent)) return false;
  const Time wait = event.wait.value_or(0);
  // Where the end came first, it said how long all waits and one flight were.
  if (request.ended && request.attempts > 1) {
    const Time ended = request.arrived + request.wait + request.flight;
    const Time flights = ended - event.at - std::max<Time>(request.wait - wait, 0);
    request.flight = std::clamp<Time>(flights / request.attempts, 0, kLongestSpan);
  }
  request.dispatched = true;
  request.fate = Fate::sent;
  request.arrived = event.at - wait;
  request.wait = wait;
  return true;
}

/// `waitMs` of its end has all its waits, also those between several sendings; `flightMs` is of the last one.
bool EventLogReader::land(const EventLine& event, LoggedRequest& request, bool is_new) const {
  if (request.ended || (!is_new && request.fate != Fate::sent)) return false;
  const Time waits = event.wait.value_or(Time{request.wait});
  request.ended = true;
  request.fate = Fate::sent;
  request.status = static_cast<std::uint16_t>(event.status);
  request.attempts = static_cast<std::uint16_t>(event.attempts.value_or(1));
  request.flight = event.flight.value_or(LoggedRequest::kUnknown);
  if (!request.dispatched) {
    request.wait = waits;
    request.arrived = event.at - waits - std::max<Time>(request.flight, 0);
  } else if (request.attempts > 1) {
    const Time flights = event.at - (request.arrived + request.wait) - std::max<Time>(waits - request.wait, 0);
    request.flight = std::clamp<Time>(flights / request.attempts, 0, kLongestSpan);
  } else if (request.flight == LoggedRequest::kUnknown) {
    request.flight = std::clamp<Time>(event.at - (request.arrived + request.wait), 0, kLongestSpan);
  }
  return true;
}

/// A handshake that came to nothing is `gone` or `refused` too, but it never waited: it has no waitMs.
bool EventLogReader::leave(const EventLine& event, LoggedRequest& request) const {
  request.ended = true;
  request.status = static_cast<std::uint16_t>(event.status);
  request.wait = event.wait.value_or(0);
  request.arrived = event.at - request.wait;
  const bool refused = event.kind == EventKind::refused;
  request.fate = refused ? refusal_of(event) : event.wait ? Fate::gone : Fate::other;
  log_.refused_without_kind += refused && event.refusal.empty() ? 1 : 0;
  return true;
}

}  // namespace penstock::replay
