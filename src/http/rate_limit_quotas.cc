// SPDX-License-Identifier: Apache-2.0
// See rate_limit_quotas.h. How long a window is stands in a policy: `100;w=60` behind the limit itself, or in a field
// of its own.
#include "http/rate_limit_quotas.h"

#include "http/grammar.h"
#include "http/rate_limit_table.h"
#include "http/rate_limit_text.h"

namespace penstock::http {
namespace {

std::optional<Duration> length_of(std::string_view item) {
  const auto said = parameter_of(item, "w=");
  const auto seconds = said ? said : parameter_of(item, "window=");
  return seconds ? wait_until(*seconds, TimeForm::seconds, 0) : std::nullopt;
}

/// By the first item of that list which has the limit as its number, or as `q`, and says a length.
std::optional<Duration> length_in(std::string_view policies, std::uint64_t limit) {
  while (!policies.empty()) {
    const auto item = cut(policies, ',');
    const auto quota = parameter_of(item, "q=");
    if (units_of(quota ? *quota : item) != limit) continue;
    if (const auto length = length_of(item)) return length;
  }
  return std::nullopt;
}

/// Collects the quotas of one answer.
class QuotaReader {
 public:
  QuotaReader(const Fields& fields, const RateLimitPlaces& places, std::int64_t wall)
      : fields_(fields), places_(places), now_(clock_of(fields, wall)) {}

  std::vector<Quota> read() {
    for (const auto& names : limit_fields()) {
      if (names.counter.empty() && !names.is_length) read_fields(names);
    }
    read_structured();
    return std::move(quotas_);
  }

 private:
  struct Said {
    std::string_view limit, remaining, reset, policy, field;
    TimeForm form = TimeForm::any;
    bool of_part = false;
  };

  std::string_view value(std::string_view name) const {
    const auto index = name.empty() ? fields_.size() : places_.first(name);
    return index < fields_.size() ? fields_[index].value : std::string_view();
  }
  std::string_view policy(std::string_view name) const { return fields_.find(name).value_or(std::string_view()); }

  bool is_of_part() const {
    const auto resource = trim(value(kResource));
    return !value(kBucket).empty() || (!resource.empty() && resource != "core");
  }

  void add(const Said& said) {
    const auto limit = units_of(said.limit), remaining = units_of(said.remaining);
    const auto resets = wait_until(trim(said.reset), said.form, now_);
    if (!limit || !remaining || !resets || *limit == 0 || *resets <= Duration{0}) return;
    const auto beside = length_in(said.limit, *limit);
    quotas_.push_back({.limit = *limit,
                       .remaining = *remaining,
                       .resets = *resets,
                       .interval = beside ? beside : length_in(said.policy, *limit),
                       .of_part = said.of_part,
                       .field = said.field});
  }

  /// A list of what remains says several quotas, and the others are lists as long as that.
  void read_fields(const LimitFields& names) {
    const auto index = places_.first(names.remaining);
    if (index >= fields_.size()) return;
    const bool plain = names.dialect == Dialect::rate_limit;
    const bool has_wait = !value(names.in_seconds).empty();
    Said said{.limit = value(names.limit),
              .remaining = fields_[index].value,
              .reset = has_wait ? value(names.in_seconds) : value(names.reset),
              .policy = policy(plain ? "ratelimit-policy" : "x-ratelimit-policy"),
              .field = fields_[index].name,
              .form = has_wait ? TimeForm::seconds : names.form,
              .of_part = names.dialect == Dialect::x_rate_limit && is_of_part()};
    if (!said.remaining.contains(',')) return add(said);
    std::string_view limits = said.limit, left = said.remaining, resets = said.reset;
    while (!left.empty()) {
      said.limit = cut(limits, ','), said.remaining = cut(left, ','), said.reset = cut(resets, ',');
      add(said);
    }
  }

  /// `limit=100, remaining=50, reset=30`, and `"default";r=50;t=30` with its policy `"default";q=100;w=60`.
  void read_structured() {
    for (std::size_t i = places_.first(kRateLimit); i < fields_.size(); ++i) {
      if (!equal_ignoring_case(fields_[i].name, kRateLimit)) continue;
      const std::string_view text = fields_[i].value, policies = policy("ratelimit-policy");
      const auto all = [&](std::string_view name) { return parameter_of(text, name).value_or(std::string_view()); };
      if (text.contains("remaining=")) {
        add({all("limit="), all("remaining="), all("reset="), policies, fields_[i].name, TimeForm::seconds});
        continue;
      }
      for (std::string_view rest = text; !rest.empty();) read_item(cut(rest, ','), policies, fields_[i].name);
    }
  }

  void read_item(std::string_view item, std::string_view policies, std::string_view field) {
    const std::string_view name = trim(item.substr(0, item.find(';')));
    while (!policies.empty()) {
      const auto policy = cut(policies, ',');
      if (trim(policy.substr(0, policy.find(';'))) != name) continue;
      const auto of = [](std::string_view text, std::string_view key) {
        return parameter_of(text, key).value_or(std::string_view());
      };
      return add({of(policy, "q="), of(item, "r="), of(item, "t="), policy, field, TimeForm::seconds});
    }
  }

  const Fields& fields_;
  const RateLimitPlaces& places_;
  const std::int64_t now_;  // by the clock of the one that answers
  std::vector<Quota> quotas_;
};

}  // namespace

std::vector<Quota> read_quotas(const ResponseHead& head, std::int64_t wall, Obey obey) {
  const RateLimitPlaces places(head.fields, obey);
  if (places.empty()) return {};
  return QuotaReader(head.fields, places, wall).read();
}

}  // namespace penstock::http
