// SPDX-License-Identifier: Apache-2.0
// See reading.h.
#include "config/reading.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <initializer_list>
#include <limits>

#include "config/hints.h"
#include "config/source_text.h"
#include "config/suggestion.h"
#include "config/units.h"

namespace penstock::config {

namespace {

bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool is_name(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_name_char) && !(text[0] >= '0' && text[0] <= '9');
}

constexpr std::size_t kLargestValue = 64 * 1024;

/// Without the newline at its end, which editors put there.
std::expected<std::string, std::string> text_of_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(kLargestValue + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!file.is_open() || file.bad() || (file.fail() && !file.eof()))
    return std::unexpected("the file " + path + " cannot be read: " + std::strerror(errno));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > kLargestValue) return std::unexpected("the file " + path + " is larger than 64KiB");
  if (text.ends_with('\n')) text.pop_back();
  if (text.ends_with('\r')) text.pop_back();
  if (find_unreadable(text) || text.find('\n') != std::string::npos)
    return std::unexpected("the file " + path + " is not one line of text");
  return text;
}

std::string quoted(const Node& node) { return "'" + node.text + "'"; }

// Why a text was refused whose unit is missing or unknown.
std::string unit_hint(std::string_view text, std::string_view zero, std::string_view example) {
  if (text == "0") return "needs a unit; write " + std::string(zero);
  if (parse_count(text)) return "needs a unit, as in " + std::string(example);
  if (const auto sum = sum_of_units(text)) return "has several units; write it with one, as " + write_duration(*sum);
  return "is not a plain number with a unit, as in " + std::string(example);
}

std::optional<std::uint64_t> read_count(Reading& reading, const Spot& spot, std::uint64_t most) {
  const auto text = reading.text(spot, "a number");
  const auto count = text ? parse_count(*text) : std::nullopt;
  if (text && !count) {
    reading.complain(spot.node, named(spot.path) + ": " + quoted(spot.node) + " is not a plain number, as in 20");
  }
  if (!count || *count <= most) return count;
  reading.complain(spot.node, named(spot.path) + ": " + quoted(spot.node) + " is too large");
  return std::nullopt;
}

// An unreadable pattern leaves an empty one in its list: indices, which positions depend on, must stay in step.
Match read_pattern(Reading& reading, const Spot& spot) {
  reading.met(spot.path, spot.node);
  const auto text = reading.text(spot, "a pattern such as api.example.com");
  if (!text) return {};
  auto match = parse_match(*text);
  if (!match) reading.complain(spot.node, named(spot.path) + ": " + quoted(spot.node) + ": " + match.error());
  return std::move(match).value_or(Match{});
}

// Reads one of a few words, each of which stands for a value.
template <typename Value>
void read_word(Reading& reading, const Spot& spot, std::initializer_list<std::pair<std::string_view, Value>> words,
               Value& into) {
  std::string expected;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) expected += i + 1 < words.size() ? ", " : " or ";
    expected += words.begin()[i].first;
  }
  const auto text = reading.text(spot, expected);
  if (!text) return;
  const auto word = std::find_if(words.begin(), words.end(), [&](const auto& w) { return w.first == *text; });
  if (word == words.end()) return reading.complain(spot.node, named(spot.path) + " must be " + expected);
  into = word->second;
}

std::string item_path(const Spot& spot, std::size_t index) { return spot.path + "[" + std::to_string(index) + "]"; }

std::optional<Obey> dialect_named(std::string_view name) {
  const auto* const found = std::ranges::find(kDialectNames, name);
  if (found == kDialectNames.end()) return std::nullopt;
  return Obey::only(static_cast<Dialect>(found - kDialectNames.begin()));
}

// Nothing but a complaint where there is no such dialect.
Obey read_dialect(Reading& reading, const Spot& spot) {
  const auto text = reading.text(spot, "a dialect such as retryAfter");
  if (!text) return {};
  if (const auto dialect = dialect_named(*text)) return *dialect;
  const auto meant = nearest(*text, kDialectNames);
  std::string all;
  for (const auto name : kDialectNames) all.append(all.empty() ? "" : ", ").append(name);
  reading.complain(spot.node, named(spot.path) + ": there is no dialect " + quoted(spot.node) +
                                  (meant ? "; did you mean '" + std::string(*meant) + "'?" : "; there are " + all));
  return {};
}

template <typename Value, typename Read>
void read_list(Reading& reading, const Spot& spot, std::vector<Value>& into, Read read_item) {
  if (spot.node.kind == Node::Kind::broken) return;
  if (spot.node.kind != Node::Kind::list) {
    reading.complain(spot.node, named(spot.path) + " must be a list; write [] for an empty one");
    return;
  }
  into.clear();
  for (std::size_t i = 0; i < spot.node.items.size(); ++i) {
    const Spot item{spot.node.items[i], item_path(spot, i)};
    reading.met(item.path, item.node);
    into.push_back(read_item(item));
  }
}

}  // namespace

std::string shown(std::string_view path) {
  std::string text;
  for (auto open = path.find('['); open != std::string_view::npos; open = path.find('[')) {
    text += path.substr(0, open);
    path.remove_prefix(std::min(path.find(']', open), path.size() - 1) + 1);
  }
  return text.append(path);
}

std::string named(std::string_view path) {
  const std::string text = shown(path);
  const auto dot = text.rfind('.');
  return dot == std::string::npos ? text : text.substr(dot + 1) + " in " + text.substr(0, dot);
}

Reading::Reading(const Environment& environment, std::vector<Problem> so_far)
    : environment_(environment), problems_(std::move(so_far)) {
  for (const auto& problem : problems_) blamed_.emplace(problem.line, problem.column);
}

void Reading::complain(const Node& at, std::string message) {
  problems_.push_back({at.line, at.column, std::move(message)});
  blamed_.emplace(at.line, at.column);
}

void Reading::met(const std::string& path, const Node& at) { places_.try_emplace(path, at.line, at.column); }

void Reading::complain_about(std::string path, std::string message) {
  while (!path.empty() && !places_.contains(path)) {
    const auto cut = path.find_last_of(".[");
    path.resize(cut == std::string::npos ? 0 : cut);
  }
  const Place place = path.empty() ? Place{1, 1} : places_.at(path);
  if (!blamed_.contains(place)) problems_.push_back({place.first, place.second, std::move(message)});
}

void Reading::excuse(const std::string& path) {
  if (const auto place = places_.find(path); place != places_.end()) blamed_.insert(place->second);
}

std::optional<std::string> Reading::text(const Spot& spot, std::string_view expected) {
  if (spot.node.kind == Node::Kind::broken) return std::nullopt;
  if (spot.node.kind == Node::Kind::scalar) return filled_in(spot);
  const bool empty = spot.node.kind == Node::Kind::null;
  complain(spot.node, named(spot.path) + (empty ? " has no value; it takes " : " must be ") + std::string(expected));
  return std::nullopt;
}

/// Of NAME in the environment, or of `file:PATH`. The error is empty if it is neither.
std::expected<std::string, std::string> Reading::value_of(std::string_view reference) const {
  constexpr std::string_view kFile = "file:";
  if (reference.starts_with(kFile) && reference.size() > kFile.size())
    return text_of_file(std::string(reference.substr(kFile.size())));
  if (!is_name(reference)) return std::unexpected(std::string());
  const std::string name(reference);
  if (auto value = environment_(name)) return *value;
  return std::unexpected("the environment variable " + name + " is not set");
}

std::optional<std::string> Reading::filled_in(const Spot& spot) {
  std::string_view rest = spot.node.text;
  std::string out;
  for (auto at = rest.find("${"); at != std::string_view::npos; at = rest.find("${")) {
    const auto end = rest.find('}', at);
    const bool closed = end != std::string_view::npos;
    const auto value = closed ? value_of(rest.substr(at + 2, end - at - 2)) : std::unexpected(std::string());
    if (!value) {
      const bool malformed = value.error().empty();
      complain(spot.node,
               named(spot.path) + ": " + (malformed ? quoted(spot.node) + " has a ${ without NAME}" : value.error()));
      return std::nullopt;
    }
    out.append(rest.substr(0, at)).append(*value);
    rest.remove_prefix(end + 1);
  }
  return out.append(rest);
}

void read(Reading& reading, const Spot& spot, Duration& into) {
  const auto text = reading.text(spot, "a duration such as 30s");
  if (!text) return;
  if (const auto duration = parse_duration(*text)) {
    into = *duration;
  } else {
    const auto hint = unit_hint(*text, "0s", "250ms, 30s or 5m (us ms s m h d)");
    reading.complain(spot.node, named(spot.path) + ": " + quoted(spot.node) + " " + hint);
  }
}

void read_size(Reading& reading, const Spot& spot, std::size_t& into) {
  const auto text = reading.text(spot, "a size such as 64KiB");
  if (!text) return;
  if (const auto size = parse_size(*text)) {
    into = *size;
  } else {
    const auto hint = unit_hint(*text, "0B", "512B, 64KiB or 1GiB (B KiB MiB GiB)");
    reading.complain(spot.node, named(spot.path) + ": " + quoted(spot.node) + " " + hint);
  }
}

void read(Reading& reading, const Spot& spot, std::size_t& into) {
  if (const auto count = read_count(reading, spot, std::numeric_limits<std::size_t>::max())) into = *count;
}

void read(Reading& reading, const Spot& spot, int& into) {
  constexpr auto kMost = std::numeric_limits<int>::max();
  if (const auto count = read_count(reading, spot, kMost)) into = static_cast<int>(*count);
}

void read(Reading& reading, const Spot& spot, std::string& into) {
  if (auto text = reading.text(spot, "a text")) into = std::move(*text);
}

void read(Reading& reading, const Spot& spot, Endpoint& into) {
  const auto text = reading.text(spot, "address:port, such as 127.0.0.1:3128");
  if (!text) return;
  if (auto endpoint = parse_endpoint(*text)) {
    into = std::move(*endpoint);
  } else {
    reading.complain(spot.node, named(spot.path) + ": " + quoted(spot.node) +
                                    " is not address:port, such as 127.0.0.1:3128 or [::1]:3128");
  }
}

void read(Reading& reading, const Spot& spot, LogLevel& into) {
  read_word(reading, spot,
            {{"debug", LogLevel::debug},
             {"info", LogLevel::info},
             {"warn", LogLevel::warn},
             {"error", LogLevel::error},
             {"off", LogLevel::off}},
            into);
}

void read(Reading& reading, const Spot& spot, LogClient& into) {
  read_word(reading, spot, {{"address", LogClient::address}, {"full", LogClient::full}, {"off", LogClient::off}}, into);
}

void read(Reading& reading, const Spot& spot, AdminDetails& into) {
  read_word(reading, spot,
            {{"loopback", AdminDetails::loopback}, {"all", AdminDetails::all}, {"off", AdminDetails::off}}, into);
}

void read(Reading& reading, const Spot& spot, WhenDown& into) {
  if (spot.node.kind == Node::Kind::scalar && spot.node.text == "hold")
    return reading.complain(spot.node, named(spot.path) + ": hold is now called wait");
  read_word(
      reading, spot,
      {{"share", WhenDown::share}, {"wait", WhenDown::wait}, {"open", WhenDown::open}, {"refuse", WhenDown::refuse}},
      into);
}

void read(Reading& reading, const Spot& spot, Https& into) {
  read_word(reading, spot,
            {{"tunnel", Https::tunnel}, {"originate", Https::originate}, {"intercept", Https::intercept}}, into);
}

void read(Reading& reading, const Spot& spot, H2Only& into) {
  read_word(reading, spot, {{"tunnel", H2Only::tunnel}, {"refuse", H2Only::refuse}}, into);
}

// An unreadable URL leaves an empty one, so that it is not reported as missing as well.
void read(Reading& reading, const Spot& spot, std::optional<BaseUrl>& into) {
  const auto text = reading.text(spot, "a URL such as https://api.example.com/v1");
  auto url = parse_base_url(text.value_or(""));
  if (text && !url) reading.complain(spot.node, named(spot.path) + ": " + url.error());
  into = std::move(url).value_or(BaseUrl{});
}

void read(Reading& reading, const Spot& spot, Obey& into) {
  if (spot.node.kind == Node::Kind::list) {
    Obey dialects;
    for (std::size_t i = 0; i < spot.node.items.size(); ++i)
      dialects = dialects | read_dialect(reading, {spot.node.items[i], item_path(spot, i)});
    if (spot.node.items.empty()) reading.complain(spot.node, named(spot.path) + " is empty; write off to obey nothing");
    into = dialects;
    return;
  }
  if (spot.node.kind == Node::Kind::scalar && spot.node.text != "retryAfter" && dialect_named(spot.node.text))
    return reading.complain(
        spot.node, named(spot.path) + ": a dialect stands in a list, as in [retryAfter, " + spot.node.text + "]");
  read_word(reading, spot, {{"auto", Obey::automatic}, {"retryAfter", Obey::retry_after}, {"off", Obey::off}}, into);
}

void read(Reading& reading, const Spot& spot, PauseScope& into) {
  read_word(reading, spot, {{"upstream", PauseScope::upstream}, {"credentials", PauseScope::credentials}}, into);
}

void read(Reading& reading, const Spot& spot, Learn& into) {
  read_word(reading, spot, {{"off", Learn::off}, {"on", Learn::on}}, into);
}

void read(Reading& reading, const Spot& spot, RetryConfig::Failures& into) {
  using enum RetryConfig::Failures;
  read_word(reading, spot, {{"off", off}, {"safe", safe}, {"idempotent", idempotent}}, into);
}

void read_percent(Reading& reading, const Spot& spot, int& into) {
  const auto text = reading.text(spot, "a percentage such as 20%");
  if (!text) return;
  const bool has_unit = text->ends_with('%');
  const auto count = parse_count(has_unit ? std::string_view(*text).substr(0, text->size() - 1) : *text);
  if (has_unit && count && *count <= 100) {
    into = static_cast<int>(*count);
  } else {
    reading.complain(spot.node, named(spot.path) + ": " + quoted(spot.node) +
                                    (!count      ? " is not a whole percentage, as in 20%"
                                     : !has_unit ? " needs a unit; write " + *text + "%"
                                                 : " is more than all; it may be 0% to 100%"));
  }
}

void read(Reading& reading, const Spot& spot, LimitConfig::Per& into) {
  read_word(reading, spot, {{"upstream", LimitConfig::Per::upstream}, {"group", LimitConfig::Per::group}}, into);
}

void read(Reading& reading, const Spot& spot, LimitConfig::Mode& into) {
  read_word(reading, spot,
            {{"delay", LimitConfig::Mode::delay},
             {"refuse", LimitConfig::Mode::refuse},
             {"shadow", LimitConfig::Mode::shadow}},
            into);
}

void read(Reading& reading, const Spot& spot, bool& into) {
  read_word(reading, spot, {{"true", true}, {"false", false}}, into);
}

void read_switch(Reading& reading, const Spot& spot, bool& into) {
  const bool as_any = spot.node.kind == Node::Kind::scalar && (spot.node.text == "true" || spot.node.text == "false");
  if (as_any) return read(reading, spot, into);
  read_word(reading, spot, {{"on", true}, {"off", false}}, into);
}

void read(Reading& reading, const Spot& spot, double& into) {
  const auto text = reading.text(spot, "a number");
  if (!text) return;
  if (const auto number = parse_number(*text)) {
    into = *number;
  } else {
    reading.complain(spot.node,
                     named(spot.path) + ": " + quoted(spot.node) + " is not a plain number, as in 20 or 0.5");
  }
}

void read(Reading& reading, const Spot& spot, std::optional<GroupRule>& into) {
  const auto text = reading.text(spot, "path:/a/{name}, header:NAME, json:PATH or host");
  if (!text) return;
  if (auto rule = parse_group(*text)) {
    into = std::move(*rule);
  } else {
    reading.complain(spot.node, named(spot.path) + ": " + quoted(spot.node) + ": " + rule.error());
  }
}

void read(Reading& reading, const Spot& spot, std::vector<std::string>& into) {
  read_list(reading, spot, into, [&](const Spot& item) { return reading.text(item, "a text").value_or(""); });
}

void read(Reading& reading, const Spot& spot, std::vector<std::uint16_t>& into) {
  constexpr auto kMost = std::numeric_limits<std::uint16_t>::max();
  read_list(reading, spot, into,
            [&](const Spot& item) { return static_cast<std::uint16_t>(read_count(reading, item, kMost).value_or(0)); });
}

void read(Reading& reading, const Spot& spot, std::optional<std::vector<std::string>>& into) {
  std::vector<std::string> list;
  read(reading, spot, list);
  into = std::move(list);
}

void read(Reading& reading, const Spot& spot, std::vector<Match>& into) {
  if (spot.node.kind != Node::Kind::list) {
    into.push_back(read_pattern(reading, {spot.node, item_path(spot, 0)}));
    return;
  }
  for (std::size_t i = 0; i < spot.node.items.size(); ++i) {
    into.push_back(read_pattern(reading, {spot.node.items[i], item_path(spot, i)}));
  }
}

}  // namespace penstock::config
