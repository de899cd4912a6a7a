// SPDX-License-Identifier: Apache-2.0
// Vendors write one of two things. Either how long to wait, on an answer that refuses: Retry-After and its kin. Or what
// remains of a limit, and when that is filled again: rate_limit_table.cc has a row for each such set of fields.
// RateLimit of the IETF has all of it in one field, and Shopify what remains alone.
#include "http/rate_limit_fields.h"

#include "http/grammar.h"
#include "http/rate_limit_table.h"
#include "http/rate_limit_text.h"

namespace penstock::http {
namespace {

using Scope = RateLimitWord::Scope;

/// The longest of several waits, and the field that says so.
struct LongestWait {
  std::optional<Duration> wait;
  std::string_view field;

  void take(const LongestWait& other) {
    if (other.wait && (!wait || *other.wait > *wait)) *this = other;
  }
};

/// Collects what the fields of one answer say.
class RateLimitReader {
 public:
  RateLimitReader(const ResponseHead& head, std::int64_t wall, const RateLimitPlaces& places, bool may_refuse)
      : fields_(head.fields), places_(places), wall_(wall), may_refuse_(may_refuse) {}

  /// `must_say`: it refuses only if a field says so.
  RateLimitWord read(bool must_say) {
    if (may_refuse_) read_waits();
    for (const auto& limit : limit_fields()) read_limit(limit);
    read_structured();
    read_shopify();
    const bool says = said_.wait || spent_plain_ || spent_named_;
    word_.refused = may_refuse_ && (says || !must_say);
    word_.names_wait = said_.wait.has_value();
    word_.spent = !word_.refused && (spent_plain_ || spent_named_);
    if (word_.refused && !says) read_resets();
    choose_pause();
    choose_scope();
    return word_;
  }

 private:
  std::optional<Fields::Line> line(std::string_view name) const {
    const auto index = name.empty() ? fields_.size() : places_.first(name);
    return index < fields_.size() ? std::optional(fields_[index]) : std::nullopt;
  }

  /// All lines of that name.
  void each_line(std::string_view name, auto visit) const {
    if (name.empty()) return;
    for (std::size_t i = places_.first(name); i < fields_.size(); ++i) {
      if (equal_ignoring_case(fields_[i].name, name)) visit(fields_[i]);
    }
  }

  void take(LongestWait& longest, std::string_view name, std::string_view value, TimeForm form) {
    if (!now_) now_ = clock_of(fields_, wall_);
    const auto wait = wait_until(trim(value), form, *now_);
    if (!wait) {
      ++word_.unreadable;
    } else {
      longest.take({wait, name});
    }
  }

  void read_waits() {
    for (const auto& wait : wait_fields()) {
      each_line(wait.name, [&](const Fields::Line& line) { take(said_, line.name, line.value, wait.form); });
    }
  }

  /// Some vendors write several limits as lists of one length: "0, 14000" remain, which are reset in "1, 86400".
  void read_limit(const LimitFields& names) {
    const auto remaining = line(names.remaining);
    if (!remaining) return;
    const auto limit = line(names.limit), reset = line(names.reset);
    std::string_view of_all = limit ? limit->value : std::string_view(), left = remaining->value;
    if (!left.contains(',')) {
      if (judge(units_of(left), units_of(of_all), names)) read_reset(names, longest_of(names));
      return;
    }
    std::string_view moments = reset ? reset->value : std::string_view();
    while (!left.empty()) {
      const auto one = units_of(cut(left, ',')), of = units_of(cut(of_all, ','));
      const auto moment = cut(moments, ',');
      if (of == 0) continue;  // Brave writes so of what is not limited
      if (judge(one, of, names) && reset) take(longest_of(names), reset->name, moment, names.form);
    }
  }

  /// Notes what remains of a limit; true if that is nothing.
  bool judge(std::optional<std::uint64_t> remaining, std::optional<std::uint64_t> limit, const LimitFields& names) {
    if (!remaining) return ++word_.unreadable, false;
    note(*remaining, limit);
    if (*remaining > 0) return false;
    if (is_named(names)) {
      spent_named_ = true;
      word_.name = name_of(names);
    } else {
      spent_plain_ = true;
    }
    return true;
  }

  void note(std::uint64_t remaining, std::optional<std::uint64_t> limit) {
    const auto whole = std::max<std::uint64_t>(limit.value_or(1), 1);
    const double share = std::min(static_cast<double>(remaining) / static_cast<double>(whole), 1.0);
    if (word_.remaining && share >= share_) return;
    share_ = share;
    word_.remaining = remaining;
    word_.limit = limit;
  }

  LongestWait& longest_of(const LimitFields& names) { return is_named(names) ? named_ : plain_; }

  /// Discord and GitHub write of one of many limits in the fields that others have for their only one.
  bool is_named(const LimitFields& names) const { return !names.counter.empty() || !name_of(names).empty(); }
  std::string_view name_of(const LimitFields& names) const {
    if (names.dialect != Dialect::x_rate_limit) return names.counter;
    const auto part = line(kBucket), resource = line(kResource);
    return part ? trim(part->value) : resource ? trim(resource->value) : std::string_view();
  }

  void read_reset(const LimitFields& names, LongestWait& longest) {
    if (names.is_length && !may_refuse_) return;
    if (const auto reset = line(names.reset)) take(longest, reset->name, reset->value, names.form);
    if (const auto wait = line(names.in_seconds)) take(longest, wait->name, wait->value, TimeForm::seconds);
  }

  /// For answers that refuse, and say of no limit what remains: the time at which it is filled again counts.
  void read_resets() {
    for (const auto& limit : limit_fields()) {
      if (!line(limit.remaining)) read_reset(limit, plain_);
    }
  }

  /// IETF's drafts from 07 on: `limit=100, remaining=0, reset=30`, and `"default";r=0;t=30, "day";r=12;t=3600`.
  void read_structured() {
    each_line(kRateLimit, [&](const Fields::Line& field) {
      const bool old = field.value.contains("remaining=");
      for (std::string_view rest = field.value; !rest.empty();) {
        const auto item = old ? rest : cut(rest, ',');
        if (old) rest = {};
        read_item(field, item, old ? "remaining=" : "r=", old ? "reset=" : "t=", old ? "limit=" : "q=");
      }
    });
  }

  void read_item(const Fields::Line& field, std::string_view item, std::string_view left, std::string_view until,
                 std::string_view whole) {
    const auto remaining = parameter_of(item, left), reset = parameter_of(item, until),
               limit = parameter_of(item, whole);
    const LimitFields plain{.dialect = Dialect::rate_limit, .limit = {}, .remaining = {}, .reset = {}};
    if (!judge(remaining ? units_of(*remaining) : std::nullopt, limit ? units_of(*limit) : std::nullopt, plain)) return;
    if (reset) take(plain_, field.name, *reset, TimeForm::seconds);
  }

  /// `32/40` are taken. No field has the time at which one is free again.
  void read_shopify() {
    const auto field = line(kShopifyCalls);
    if (!field) return;
    std::string_view rest = field->value;
    const auto taken = units_of(cut(rest, '/')), limit = units_of(rest);
    if (!taken || !limit) {
      ++word_.unreadable;
      return;
    }
    note(*limit - std::min(*taken, *limit), limit);
    if (*taken >= *limit) spent_plain_ = true;
  }

  /// What is said of a part says nothing of the whole: of a good answer the pause is that of what is spent.
  void choose_pause() {
    LongestWait longest = said_;
    if (word_.refused || spent_plain_) longest.take(plain_);
    if (word_.refused || !spent_plain_) longest.take(named_);
    word_.pause = longest.wait;
    word_.field = longest.field;
  }

  void choose_scope() {
    const auto scope = line(kScope), global = line(kGlobal);
    const auto is = [](const std::optional<Fields::Line>& field, std::string_view word) {
      return field && equal_ignoring_case(trim(field->value), word);
    };
    if (word_.refused && (is(global, "true") || is(scope, "global"))) {
      word_.scope = Scope::whole;
    } else if (word_.refused && (is(scope, "user") || is(scope, "shared"))) {
      word_.scope = Scope::named;
      const auto bucket = line(kBucket);
      word_.name = bucket ? trim(bucket->value) : std::string_view();
    } else if (spent_named_ && !spent_plain_) {
      word_.scope = Scope::named;
    }
    if (word_.scope != Scope::named) word_.name = {};
  }

  const Fields& fields_;
  const RateLimitPlaces& places_;
  const std::int64_t wall_;
  std::optional<std::int64_t> now_;  // by the clock of the one that answers, once it is needed
  const bool may_refuse_;
  LongestWait said_, plain_, named_;  // by Retry-After and its kin; by limits, by their scope
  bool spent_plain_ = false, spent_named_ = false;
  double share_ = 1;  // that remains of the limit in word_
  RateLimitWord word_;
};

}  // namespace

RateLimitWord read_rate_limit(const ResponseHead& head, std::int64_t wall, Obey obey,
                              std::span<const std::uint16_t> refusals) {
  const bool listed = may_refuse(head.status, refusals), must_say = head.status == 403;
  const RateLimitPlaces places(head.fields, obey);
  if (places.empty()) {
    RateLimitWord word;
    word.refused = listed && !must_say;
    return word;
  }
  return RateLimitReader(head, wall, places, listed).read(must_say);
}

}  // namespace penstock::http
