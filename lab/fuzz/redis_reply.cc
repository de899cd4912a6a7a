// SPDX-License-Identifier: Apache-2.0
// What stands in Redis' place, and its answers: whatever the bytes say, memory stays bounded, however they are cut they
// are read alike, a second reader reads the same, and nothing implausible becomes a booking.
#include "redis/wire/reply.h"

#include <cstdlib>
#include <optional>
#include <string>

#include "fuzz/fuzz.h"
#include "redis/limits/book_reply.h"
#include "redis/wire/failure.h"

namespace penstock::fuzz {
namespace {

using redis::Reply;
using redis::ReplyReader;

std::string told(const Reply& reply) {
  switch (reply.kind()) {
    case Reply::Kind::nil: return "nil ";
    case Reply::Kind::integer: return std::to_string(reply.integer()) + " ";
    case Reply::Kind::text: return "'" + std::string(reply.text()) + "' ";
    case Reply::Kind::error: return "!" + std::string(reply.text()) + " ";
    case Reply::Kind::array: break;
  }
  std::string text = "[";
  auto elements = reply.elements();
  while (elements.left() > 0) text += told(elements.next());
  must(elements.next().kind() == Reply::Kind::nil, "past the end is nothing");
  return text + "] ";
}

/// RESP2 as it is documented, one spelling of everything.
class SecondReader {
 public:
  explicit SecondReader(std::string_view bytes) : rest_(bytes) {}
  std::optional<std::string> next(int depth = 0) {
    const auto end = rest_.find("\r\n");
    if (end == std::string_view::npos || end == 0) return {};
    const char kind = rest_.front();
    const std::string line(rest_.substr(1, end - 1));
    rest_.remove_prefix(end + 2);
    if (kind == '+' || kind == '-') return line.find_first_of("\r\n") == line.npos ? simple(kind, line) : std::nullopt;
    const auto value = number(line);
    if (!value || (kind != ':' && *value < -1)) return {};
    if (kind == ':') return std::to_string(*value) + " ";
    if (*value < 0) return "nil ";
    return kind == '$' ? bulk(static_cast<std::size_t>(*value)) : kind == '*' ? array(*value, depth) : std::nullopt;
  }

 private:
  static std::optional<std::string> simple(char kind, const std::string& line) {
    return (kind == '-' ? "!" + line : "'" + line + "'") + " ";
  }
  static std::optional<std::int64_t> number(const std::string& text) {
    const bool minus = text.starts_with('-');
    const std::string digits = text.substr(minus ? 1 : 0);
    if (digits.empty() || digits.size() > 18 || digits.find_first_not_of("0123456789") != digits.npos) return {};
    if (digits != "0" && digits.front() == '0') return {};
    return (minus ? -1 : 1) * std::stoll(digits);
  }
  std::optional<std::string> bulk(std::size_t size) {
    if (rest_.size() < size + 2 || rest_.substr(size, 2) != "\r\n") return {};
    const std::string text(rest_.substr(0, size));
    rest_.remove_prefix(size + 2);
    return "'" + text + "' ";
  }
  std::optional<std::string> array(std::int64_t size, int depth) {
    std::string all = "[";
    for (std::int64_t i = 0; i < size; ++i) {
      const auto each = depth < 5 ? next(depth + 1) : std::nullopt;
      if (!each) return {};
      all += *each;
    }
    return all + "] ";
  }

  std::string_view rest_;
};

void check_booking(const Reply& reply, std::size_t count) {
  static redis::BookReply into;  // used again and again, as in redis_booker
  if (!redis::read_book_reply(reply, count, into)) return;
  must(into.departures.size() <= count, "no more departures than were asked for");
  must(!into.generation.empty() && into.now > 0, "a booking says when it was made");
  must(std::abs(into.alive) <= 1'000'000, "there are not more processes than can be");
  constexpr std::int64_t kAges = 101LL * 365 * 86'400'000'000;
  must(into.ask_again <= into.now + kAges && into.not_before <= into.now + kAges, "nobody waits for ages of ages");
  std::int64_t last = 0;
  for (const auto& departure : into.departures) {
    must(departure.at >= last || last == 0, "departures ascend");
    must(departure.at <= into.now + flow::kHorizon, "none is beyond the horizon");
    last = departure.at;
  }
}

struct Read {
  std::string text;
  bool ended = false;

  /// As a link does.
  bool feed(ReplyReader& reader, std::string_view bytes, std::size_t count) {
    if (!reader.feed(bytes)) return !(ended = true);
    for (;;) {
      const auto found = reader.next();
      ended = found == ReplyReader::Found::nonsense;
      if (found != ReplyReader::Found::reply) return !ended;
      text += told(reader.reply()) + "\n";
      if (reader.reply().is_error()) must(redis::failure_of(reader.reply().text()).text.size() <= 500, "words are few");
      check_booking(reader.reply(), count);
    }
  }
};

}  // namespace

void try_input(std::string_view input) {
  Choices choices(input);
  const std::size_t count = choices.byte() % 32;
  const std::string_view stream = choices.rest();
  ReplyReader reader, cut_reader;
  Read whole, cut;
  whole.feed(reader, stream, count);
  in_pieces(stream, [&](std::string_view piece) { return cut.feed(cut_reader, piece, count); });
  must(whole.text == cut.text && whole.ended == cut.ended, "however it is cut", whole.text, cut.text);
  SecondReader second(stream);
  std::string_view rest = whole.text;
  while (const auto reply = second.next()) {
    const bool too_much = whole.ended && rest.empty();  // it may refuse what is too large or too deep for us
    if (too_much) break;
    must(rest.starts_with(*reply + "\n"), "a second reader reads the same", whole.text, *reply);
    rest.remove_prefix(reply->size() + 1);
  }
}

}  // namespace penstock::fuzz
