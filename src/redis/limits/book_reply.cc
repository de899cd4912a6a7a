// SPDX-License-Identifier: Apache-2.0
// Reads the parts in the order of book.lua's answer.
#include "redis/limits/book_reply.h"

#include <algorithm>

namespace penstock::redis {

using Stop = flow::Booking::Stop;
using Scope = flow::Booking::Scope;
using Status = BookReply::Status;

namespace {

/// No time asked for is further off than this.
constexpr std::int64_t kFurthest = 100LL * 365 * 86'400'000'000;
constexpr std::int64_t kMostAlive = 1'000'000, kMostUnits = 1'000'000'000'000;

bool read_status(std::string_view word, Status& into) {
  if (word == "ok") into = Status::ok;
  if (word == "stale") into = Status::stale;
  if (word == "closed") into = Status::closed;
  return word == "ok" || word == "stale" || word == "closed";
}

bool read_stop(std::string_view word, std::optional<Stop>& into) {
  into.reset();
  if (word == "turn") into = Stop::turn;
  if (word == "permit") into = Stop::permit;
  if (word == "refused") into = Stop::refused;
  return into || word.empty();
}

bool read_departures(Elements elements, const BookReply& reply, std::size_t count,
                     std::vector<BookReply::Departure>& into) {
  into.clear();
  if (elements.left() % 2 != 0 || elements.left() / 2 > count) return false;
  std::int64_t last = reply.now;
  while (elements.left() > 0) {
    const auto at = elements.next().integer();
    const auto limit = elements.next().integer();
    if (at < last || at > reply.now + flow::kHorizon) return false;
    into.push_back({at, limit});
    last = at;
  }
  return true;
}

bool read_standing(Elements elements, BookReply& into) {
  into.others = -1;
  into.standing.clear();
  if (elements.left() == 0) return true;
  const auto others = elements.next().integer(), had_less = elements.next().integer();
  if (others < 0 || others > kMostAlive || elements.left() % 3 != 0) return false;
  into.others = static_cast<int>(others);
  into.had_less = std::clamp(had_less, -kMostUnits, kMostUnits);
  while (elements.left() > 0) {
    const auto limit = elements.next().integer();
    const auto since = elements.next().integer();
    const auto much = elements.next().integer();
    if (since < 0 || since > into.now + kFurthest || much < 0 || much > kFurthest) return false;
    into.standing.push_back({limit, since, much});
  }
  return true;
}

bool plausible(std::int64_t moment, std::int64_t now) { return moment >= 0 && moment <= now + kFurthest; }

bool read_left(Elements elements, std::int64_t now, std::vector<BookReply::Remaining>& into) {
  into.clear();
  if (elements.left() % 2 != 0) return false;
  while (elements.left() > 0) {
    const auto until = elements.next().integer();
    const auto units = elements.next().integer();
    if (!plausible(until, now) || units > kMostUnits || units < -kMostUnits) return false;
    into.push_back({until, units});
  }
  return true;
}

}  // namespace

/// kPause stays; what is no limit any more becomes kNoLimit.
void BookReply::name_limits(std::span<const flow::LimitIndex> places) {
  const auto name = [places](std::int64_t& number) {
    const auto index = static_cast<std::size_t>(number);
    if (number >= 0) number = index < places.size() ? places[index] : flow::kNoLimit;
    if (number < 0 && number != flow::kPause) number = flow::kNoLimit;
  };
  name(limit);
  for (Departure& departure : departures) name(departure.limit);
  for (Standing& one : standing) name(one.limit);
}

bool read_book_reply(const Reply& reply, std::size_t count, BookReply& into) {
  auto elements = reply.elements();
  if (elements.left() < 11 || elements.left() > 15) return false;
  into.generation = elements.next().text();
  const bool status_known = read_status(elements.next().text(), into.status);
  into.now = elements.next().integer();
  into.alive = static_cast<int>(std::clamp<std::int64_t>(elements.next().integer(), -kMostAlive, kMostAlive));
  const bool stop_known = read_stop(elements.next().text(), into.stop);
  into.scope = elements.next().text() == "n" ? Scope::group : Scope::upstream;
  into.limit = elements.next().integer();
  into.ask_again = elements.next().integer();
  into.not_before = elements.next().integer();
  into.permits.clear();
  for (auto permits = elements.next().elements(); permits.left() > 0;) into.permits.push_back(permits.next().integer());
  const auto departures = elements.next().elements();
  const auto standing = elements.next().elements();
  const bool left_known = read_left(elements.next().elements(), into.now, into.left);
  into.others_limits = elements.left() > 0 ? elements.next().text() : std::string_view();
  return status_known && stop_known && left_known && !into.generation.empty() && into.now > 0 && into.now < kFurthest &&
         plausible(into.ask_again, into.now) && plausible(into.not_before, into.now) &&
         read_departures(departures, into, count, into.departures) && read_standing(standing, into);
}

}  // namespace penstock::redis
