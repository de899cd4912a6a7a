// SPDX-License-Identifier: Apache-2.0
// Vendors write one of two things. Either how long to wait, on an answer that refuses: Retry-After and its kin. Or what
// remains of a limit, and when that is filled again: there is a row in kLimits for each such pair of fields. RateLimit
// of the IETF has both in one field, and Shopify what remains alone.
#include "http/rate_limit_fields.h"

#include <algorithm>
#include <array>

#include "http/date.h"
#include "http/grammar.h"
#include "http/rate_limit_moment.h"

namespace penstock::http {
namespace {

struct WaitField {
  std::string_view name;
  TimeForm form;
};
constexpr std::array<WaitField, 3> kWaits{{
    {"retry-after", TimeForm::any},                  // RFC 9110 section 10.2.3
    {"retry-after-ms", TimeForm::milliseconds},      // OpenAI, Azure OpenAI
    {"x-ms-retry-after-ms", TimeForm::milliseconds}  // Azure
}};

struct LimitFields {
  std::string_view remaining, reset;
  TimeForm form = TimeForm::any;
  std::string_view in_seconds{};  ///< a second field with the time, as seconds from now
};
constexpr LimitFields kLimits[]{
    {"ratelimit-remaining", "ratelimit-reset"},                    // IETF's drafts up to 06; GitLab, Twitch, Docker Hub
    {"x-ratelimit-remaining", "x-ratelimit-reset", TimeForm::any,  // GitHub, Reddit, Atlassian, SendGrid
     "x-ratelimit-reset-after"},                                   // Discord
    {"x-rate-limit-remaining", "x-rate-limit-reset"},              // X, Okta
    {"x-ratelimit-remaining-requests", "x-ratelimit-reset-requests"},  // OpenAI, Azure OpenAI, Mistral, Groq
    {"x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens"},
    {"x-ratelimit-requests-remaining", "x-ratelimit-requests-reset"},  // Linear
    {"x-ratelimit-complexity-remaining", "x-ratelimit-complexity-reset"},
    {"anthropic-ratelimit-requests-remaining", "anthropic-ratelimit-requests-reset"},  // Anthropic
    {"anthropic-ratelimit-tokens-remaining", "anthropic-ratelimit-tokens-reset"},
    {"anthropic-ratelimit-input-tokens-remaining", "anthropic-ratelimit-input-tokens-reset"},
    {"anthropic-ratelimit-output-tokens-remaining", "anthropic-ratelimit-output-tokens-reset"},
    {"x-hubspot-ratelimit-remaining", "x-hubspot-ratelimit-interval-milliseconds", TimeForm::milliseconds},  // HubSpot
};

/// Seconds since 1970 by the clock of the one that answers, in µs.
std::int64_t clock_of(const Fields& fields, std::int64_t wall) {
  const auto text = fields.find("date");
  const auto date = text ? parse_date(*text, wall / 1'000'000) : std::nullopt;
  return date ? *date * 1'000'000 : wall;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

/// Whether less than one remains, by the number before parameters and other items: "76;w=21600", "0, 0;w=60", "598.0".
std::optional<bool> is_spent(std::string_view text) {
  text = trimmed(text.substr(0, text.find_first_of(";,")));
  if (text.starts_with('-')) return is_spent(text.substr(1)) ? std::optional(true) : std::nullopt;
  if (text.empty() || text.find_first_not_of("0123456789.") != std::string_view::npos) return std::nullopt;
  if (!is_digit(text.front()) || !is_digit(text.back())) return std::nullopt;
  return text.find_first_of("123456789") >= std::min(text.find('.'), text.size());
}

/// Collects what the fields of one answer say.
class Reader {
 public:
  Reader(const ResponseHead& head, std::int64_t wall) : head_(head), now_(clock_of(head.fields, wall)) {}

  /// True if a field says how long to wait.
  bool read_waits(std::size_t count) {
    bool found = false;
    for (std::size_t i = 0; i < head_.fields.size(); ++i) {
      const auto field = head_.fields[i];
      const auto is = [&](const WaitField& one) { return equal_ignoring_case(field.name, one.name); };
      const auto* wait = std::find_if(kWaits.begin(), kWaits.begin() + count, is);
      if (wait != kWaits.begin() + count && take(field.name, field.value, wait->form)) found = true;
    }
    return found;
  }

  /// True if something is said to be spent.
  bool read_limits() {
    bool spent = false;
    for (const auto& limit : kLimits) spent = read_limit(limit) || spent;
    spent = read_structured() || spent;
    return read_shopify() || spent;
  }

  RateLimitWord word() const { return word_; }
  void refuse() { word_.refused = true; }
  /// For answers that refuse, and say of no limit what remains: the time at which it is filled again counts.
  void read_resets() {
    for (const auto& limit : kLimits) {
      if (!head_.fields.find(limit.remaining)) read_reset(limit);
    }
  }

 private:
  std::optional<Fields::Line> line(std::string_view name) const {
    for (std::size_t i = 0; i < head_.fields.size(); ++i) {
      if (equal_ignoring_case(head_.fields[i].name, name)) return head_.fields[i];
    }
    return std::nullopt;
  }

  bool take(std::string_view name, std::string_view value, TimeForm form) {
    const auto wait = wait_until(trimmed(value), form, now_);
    if (!wait) return ++word_.unreadable, false;
    if (!word_.pause || *wait > *word_.pause) word_.pause = *wait, word_.field = name;
    return true;
  }

  bool read_limit(const LimitFields& limit) {
    const auto remaining = line(limit.remaining);
    if (!remaining) return false;
    const auto spent = is_spent(remaining->value);
    if (!spent) return ++word_.unreadable, false;
    if (!*spent) return false;
    read_reset(limit);
    return true;
  }

  void read_reset(const LimitFields& limit) {
    if (const auto reset = line(limit.reset)) take(reset->name, reset->value, limit.form);
    if (const auto wait = line(limit.in_seconds)) take(wait->name, wait->value, TimeForm::seconds);
  }

  /// IETF's drafts from 07 on: `limit=100, remaining=0, reset=30`, and `"default";r=0;t=30, "day";r=12;t=3600`.
  bool read_structured() {
    const auto field = line("ratelimit");
    if (!field) return false;
    const bool old = field->value.find("remaining=") != std::string_view::npos;
    bool spent = false;
    for (std::string_view rest = field->value; !rest.empty();) {
      const auto end = old ? rest.size() : std::min(rest.find(','), rest.size());
      spent = read_item(*field, rest.substr(0, end), old ? "remaining=" : "r=", old ? "reset=" : "t=") || spent;
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return spent;
  }

  bool read_item(const Fields::Line& field, std::string_view item, std::string_view left, std::string_view until) {
    const auto remaining = parameter(item, left), reset = parameter(item, until);
    const auto spent = remaining ? is_spent(*remaining) : std::nullopt;
    if (!spent) return ++word_.unreadable, false;
    if (!*spent) return false;
    if (reset) take(field.name, *reset, TimeForm::seconds);
    return true;
  }

  /// The value behind that name, which begins the item or follows a separator.
  static std::optional<std::string_view> parameter(std::string_view item, std::string_view name) {
    for (std::size_t at = item.find(name); at != std::string_view::npos; at = item.find(name, at + 1)) {
      const bool begins = at == 0 || item[at - 1] == ';' || item[at - 1] == ',' || is_blank(item[at - 1]);
      if (!begins) continue;
      const auto value = item.substr(at + name.size());
      return trimmed(value.substr(0, value.find_first_of(";,")));
    }
    return std::nullopt;
  }

  /// `40/40`: all are taken. When one is free again nobody says.
  bool read_shopify() {
    const auto field = line("x-shopify-shop-api-call-limit");
    if (!field) return false;
    const auto slash = field->value.find('/');
    if (slash == std::string_view::npos) return ++word_.unreadable, false;
    return trimmed(field->value.substr(0, slash)) == trimmed(field->value.substr(slash + 1));
  }

  const ResponseHead& head_;
  const std::int64_t now_;
  RateLimitWord word_;
};

}  // namespace

RateLimitWord read_rate_limit(const ResponseHead& head, std::int64_t wall) {
  Reader reader(head, wall);
  const bool refusal = head.status == 429 || head.status == 503 || head.status == 529;
  const bool waits = (refusal || head.status == 403) && reader.read_waits(kWaits.size());
  const bool spent = reader.read_limits();
  if (refusal || (head.status == 403 && (waits || spent))) reader.refuse();
  if (refusal && !waits && !spent) reader.read_resets();
  return reader.word();
}

RateLimitWord read_retry_after(const ResponseHead& head, std::int64_t wall) {
  Reader reader(head, wall);
  if (head.status != 429 && head.status != 503) return {};
  reader.read_waits(1);
  reader.refuse();
  return reader.word();
}

}  // namespace penstock::http
