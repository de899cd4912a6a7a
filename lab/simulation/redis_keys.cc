// SPDX-License-Identifier: Apache-2.0
// Values, and keys that expire.
#include "simulation/redis_keys.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <iterator>

namespace penstock::simulation {

namespace {

template <typename... Uses>
struct Either : Uses... {
  using Uses::operator()...;
};

constexpr double kWhole = 1e15;  // below it, "%.17g" writes whole numbers like integers

std::string_view text_of(const std::string& element) { return element; }
std::string text_of(const RedisHash::Field& field) { return field.first + "=" + field.second; }
std::string text_of(const RedisSortedSet::Member& member) { return member.second + "=" + redis_number(member.first); }

std::string joined(const auto& elements) {
  std::string text;
  for (const auto& element : elements) {
    if (!text.empty()) text += ' ';
    text += text_of(element);
  }
  return text;
}

}  // namespace

std::string redis_number(double number) {
  char digits[40];
  if (std::abs(number) < kWhole && number == std::trunc(number) && !std::signbit(number)) {
    return {digits, std::to_chars(digits, std::end(digits), static_cast<std::int64_t>(number)).ptr};
  }
  return {digits, static_cast<std::size_t>(std::snprintf(digits, sizeof digits, "%.17g", number))};
}

std::string* RedisHash::find(std::string_view field) {
  const auto found = std::ranges::find(fields_, field, &Field::first);
  return found == fields_.end() ? nullptr : &found->second;
}

bool RedisHash::set(std::string_view field, std::string_view value) {
  std::string* known = find(field);
  if (known) {
    *known = value;
  } else {
    fields_.emplace_back(field, value);
  }
  return !known;
}

bool RedisHash::erase(std::string_view field) {
  return std::erase_if(fields_, [&](const Field& one) { return one.first == field; }) > 0;
}

std::vector<RedisSortedSet::Member>::const_iterator RedisSortedSet::place(std::string_view member) const {
  return std::ranges::find(members_, member, &Member::second);
}

std::optional<double> RedisSortedSet::score(std::string_view member) const {
  const auto found = place(member);
  return found == members_.end() ? std::nullopt : std::optional(found->first);
}

bool RedisSortedSet::set(std::string_view member, double score) {
  const auto found = place(member);
  const bool is_new = found == members_.end();
  Member changed(score, member);
  if (!is_new) members_.erase(found);
  members_.insert(std::ranges::lower_bound(members_, changed), std::move(changed));
  return is_new;
}

bool RedisSortedSet::erase(std::string_view member) {
  const auto found = place(member);
  if (found == members_.end()) return false;
  members_.erase(found);
  return true;
}

std::string_view RedisValue::type() const {
  constexpr std::string_view kNames[] = {"string", "list", "zset", "hash", "set"};
  return kNames[held.index()];
}

std::string RedisValue::shown() const {
  return std::visit(
      Either{[](const RedisText& text) { return text; }, [](const RedisList& list) { return joined(list); },
             [](const RedisSortedSet& set) { return joined(set.members()); },
             [](const RedisHash& hash) { return joined(hash.fields()); },
             [](const RedisSet& set) { return joined(set); }},
      held);
}

/// An empty text is still a value.
bool RedisValue::empty() const {
  return std::visit(
      Either{[](const RedisText&) { return false; }, [](const auto& elements) { return elements.empty(); }}, held);
}

RedisValue* RedisKeys::find(std::string_view key) {
  const auto found = values_.find(key);
  if (found == values_.end()) return nullptr;
  if (!gone(found->second)) return &found->second;
  values_.erase(found);
  return nullptr;
}

RedisValue& RedisKeys::put(std::string_view key) {
  if (RedisValue* known = find(key)) return *known;
  if (values_.size() >= sweep_at_) sweep();
  return values_.try_emplace(std::string(key)).first->second;
}

bool RedisKeys::erase(std::string_view key) {
  if (!find(key)) return false;
  values_.erase(values_.find(key));
  return true;
}

void RedisKeys::sweep() {
  std::erase_if(values_, [this](const auto& entry) { return gone(entry.second); });
  sweep_at_ = std::max<std::size_t>(1024, 2 * values_.size());
}

std::vector<std::pair<std::string_view, const RedisValue*>> RedisKeys::beginning(std::string_view prefix) const {
  std::vector<std::pair<std::string_view, const RedisValue*>> found;
  for (const auto& [key, value] : values_) {
    if (key.starts_with(prefix) && !gone(value)) found.emplace_back(key, &value);
  }
  std::ranges::sort(found, {}, [](const auto& entry) { return entry.first; });
  return found;
}

}  // namespace penstock::simulation
