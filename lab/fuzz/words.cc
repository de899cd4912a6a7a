// SPDX-License-Identifier: Apache-2.0
// The small readers: dates, durations, sizes, rates and counts, the first bytes of a connection, lists of fields, a
// client's credentials, a file of users. Each is within its bounds, and what is written back is read the same.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "access/users.h"
#include "config/units.h"
#include "fuzz/fuzz.h"
#include "http/credential_identity.h"
#include "http/credentials.h"
#include "http/date.h"
#include "http/forwarding.h"
#include "http/grammar.h"
#include "http/protocol_sniff.h"
#include "http/rate_limit_fields.h"
#include "http/upgrade.h"
#include "penstock/duration.h"

namespace penstock::fuzz {
namespace {

constexpr std::int64_t kNow = 1'750'000'000;
constexpr std::int64_t kYear = 366LL * 86'400;

void check_dates(std::string_view text) {
  const auto date = http::parse_date(text, kNow);
  if (!date) return;
  // The first and the last year of four digits.
  must(*date >= -62'167'219'200 && *date <= 253'402'300'800, "a date has a year of four digits", text);
  const bool short_year = text.find('-') != std::string_view::npos;
  must(!short_year || *date <= kNow + 51 * kYear, "a year of two digits is no more than 50 years ahead", text);
}

void check_pause(std::string_view text) {
  http::ResponseHead head;
  head.status = 429;
  std::string_view rest = text;
  head.fields.add("Retry-After", http::cut(rest, '\n'));
  if (!rest.empty()) head.fields.add("Date", http::cut(rest, '\n'));
  // The same text as a time of another dialect is never less than the words of Retry-After say.
  head.fields.add("X-RateLimit-Remaining", "0");
  head.fields.add("X-RateLimit-Reset", text);
  const auto pause = http::read_rate_limit(head, kNow * 1'000'000).pause;
  must(!pause || (pause->count() >= 0 && pause->count() <= kYear * 1'000'000), "a pause is between nothing and a year",
       text);
}

void check_units(std::string_view text) {
  const auto duration = parse_duration(text);
  if (duration) {
    must(duration->count() >= 0 && duration->count() <= 10 * kYear * 1'000'000, "a duration has bounds", text);
    must(parse_duration(config::write_duration(*duration)) == duration, "a duration is stable", text);
  }
  const auto size = config::parse_size(text);
  must(!size || config::parse_size(config::write_size(*size)) == size, "a size is stable", text);
  const auto count = config::parse_count(text);
  must(!count || std::to_string(*count) == text, "a count has one spelling", text);
  const auto number = config::parse_number(text);
  must(!number || (*number >= 0 && std::isfinite(*number)), "a number is one", text);
  const auto rate = config::parse_rate(text);
  if (!rate) return;
  must(rate->count > 0 && std::isfinite(rate->count) && rate->unit.count() > 0, "a rate is over 0", text);
  const auto again = config::parse_rate(config::write_rate(*rate));
  must(!again || (again->unit == rate->unit && std::abs(again->count - rate->count) <= rate->count * 1e-5),
       "a rate is stable to six digits", text);
}

/// What the first bytes have told, more of them do not change.
void check_first_bytes(std::string_view text) {
  auto told = http::Protocol::undecided;
  for (std::size_t size = 0; size <= std::min<std::size_t>(text.size(), 64); ++size) {
    const auto now = http::sniff_protocol(text.substr(0, size));
    must(told == http::Protocol::undecided || now == told, "a verdict on first bytes stands", text);
    told = now;
  }
}

void check_fields(std::string_view text) {
  http::Fields fields;
  for (std::string_view rest = text; !rest.empty();) {
    std::string_view value = http::cut(rest, '\n');
    const std::string_view name = http::cut(value, ':');
    fields.add(name, value);
  }
  const auto hints = http::read_hints(fields);
  must(!hints || (hints->weight >= 1 && hints->weight <= 1'000'000), "a weight has bounds", text);
  const std::string upgrades = http::upgrades_passed(fields);
  must(http::is_field_value(text) == false || http::is_field_value(upgrades), "what is passed is a field", text);
  for (const auto* never : {"h2c", "HTTP/2", "tls/1.0"}) {
    http::Fields asked;
    asked.add("Upgrade", upgrades);
    must(!asked.lists("upgrade", never), "no other HTTP is asked for", upgrades);
  }
  static_cast<void>(http::via_names(fields, "penstock"));
}

std::string base64(std::string_view text) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t at = 0; at < text.size(); at += 3) {
    const std::string_view three = text.substr(at, 3);
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < 3; ++i)
      bits = bits << 8 | (i < three.size() ? static_cast<unsigned char>(three[i]) : 0);
    for (std::size_t i = 0; i < 4; ++i) out += i <= three.size() ? kDigits[bits >> (18 - 6 * i) & 63] : '=';
  }
  return out;
}

void check_credentials(std::string_view text) {
  if (const auto who = http::decode_basic(text)) {
    must(!who->user.empty() && !who->user.contains(':'), "a user has a name without a colon", text);
    must(!(who->user + who->password).contains('\0'), "credentials have no NUL", text);
    must(base64(who->user + ":" + who->password) == text, "credentials have one spelling", text);
  }
  const auto colon = text.find(':');
  if (colon != 0 && colon != std::string_view::npos && !text.contains('\0')) {
    const auto who = http::decode_basic(base64(text));
    must(who && who->user == text.substr(0, colon) && who->password == text.substr(colon + 1),
         "whatever has a name and a password is read", text);
  }
  http::Fields fields;
  for (std::string_view rest = text; !rest.empty();) fields.add("Proxy-Authorization", http::cut(rest, '\n'));
  const auto encoded = http::basic_credentials(fields);
  must(fields.size() < 2 || !encoded, "nobody speaks for two", text);
  must(!encoded || encoded->size() <= 1024, "credentials have bounds", text);
}

std::optional<std::string> identity_of(std::string_view name, std::string_view value) {
  http::Fields fields;
  fields.add(name, value);
  return http::credential_identity(fields);
}

void check_identity(std::string_view text) {
  http::Fields fields;
  std::string apart;
  for (std::string_view rest = text; !rest.empty();) {
    const auto value = http::cut(rest, '\n');
    fields.add("Authorization", value);
    apart += identity_of("Authorization", value).value_or("");
  }
  must(http::credential_identity(fields).value_or("") == apart, "several credentials are each of them", text);
  std::string payload = base64(text);
  for (char& c : payload) c = c == '+' ? '-' : c == '/' ? '_' : c;
  payload.erase(std::min(payload.find('='), payload.size()));
  const auto one = identity_of("Authorization", "Bearer e30." + payload + ".c2lnbmF0dXJl");
  const auto renewed = identity_of("Authorization", "Bearer e30." + payload + ".b3RoZXI");
  must(one && renewed, "a Bearer has an owner", text);
  must((one == renewed) == one->starts_with('c'), "a token is known by its claims, or as a whole", text);
  must(one->size() <= 64 + text.size() + payload.size(), "no more is copied than there is", text);
}

void check_users(std::string_view text) {
  const auto users = access::Users::parse(text);
  const auto lines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) + 1;
  if (!users) {
    must(!users.error().empty(), "a file is refused for a reason", text);
    for (const auto& error : users.error())
      must(error.line <= lines && error.message.size() < 1024, "an error has its line, and bounds", text,
           error.message);
    return;
  }
  must(users->size() > 0 && users->size() <= lines, "a user has a line", text);
  const auto again = access::Users::parse("# more\n\n" + std::string(text) + "\n");
  must(again && *again == *users, "what is no user changes nothing", text);
  const auto nobody = users->entry(std::string(256, 'x'), 7);
  must(!nobody.known && nobody.hash.size() >= 60, "an unknown name has a hash, and is not believed", text);
  for (std::string_view rest = text; !rest.empty();) {
    std::string_view line = http::cut(rest, '\n');
    if (line.starts_with('#') || !line.contains(':')) continue;
    const auto name = http::cut(line, ':');
    must(users->entry(name, 7).known, "who has a line is known", text);
  }
}

}  // namespace

void try_input(std::string_view input) {
  check_dates(input);
  check_pause(input);
  check_units(input);
  check_first_bytes(input);
  check_fields(input);
  check_credentials(input);
  check_identity(input);
  check_users(input);
}

}  // namespace penstock::fuzz
