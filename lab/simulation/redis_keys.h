// SPDX-License-Identifier: Apache-2.0
// The keys of one database of a simulated Redis: values of Redis' types, each with an optional time to live. A lookup
// does not find an expired key. Elements have fixed orders: nothing depends on a hash.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/text_map.h"

namespace penstock::simulation {

using RedisText = std::string;
using RedisList = std::deque<std::string>;
using RedisSet = std::set<std::string, std::less<>>;

/// Fields keep the order in which they came, as in Redis while a hash is small. Meant for hundreds of fields.
class RedisHash {
 public:
  using Field = std::pair<std::string, std::string>;
  std::string* find(std::string_view field);
  /// True: the field is new.
  bool set(std::string_view field, std::string_view value);
  bool erase(std::string_view field);
  const std::vector<Field>& fields() const { return fields_; }
  bool empty() const { return fields_.empty(); }

 private:
  std::vector<Field> fields_;
};

/// By score, then by member. Meant for hundreds of members.
class RedisSortedSet {
 public:
  using Member = std::pair<double, std::string>;
  std::optional<double> score(std::string_view member) const;
  /// True: the member is new.
  bool set(std::string_view member, double score);
  bool erase(std::string_view member);
  const std::vector<Member>& members() const { return members_; }
  /// Erases the members for which judge(member) is true; returns how many.
  template <typename Judge>
  std::size_t erase_if(Judge judge) {
    return std::erase_if(members_, judge);
  }
  bool empty() const { return members_.empty(); }

 private:
  std::vector<Member>::const_iterator place(std::string_view member) const;
  std::vector<Member> members_;
};

struct RedisValue {
  static constexpr std::int64_t kStays = -1;
  std::variant<RedisText, RedisList, RedisSortedSet, RedisHash, RedisSet> held;
  std::int64_t expires = kStays;  ///< the last millisecond since 1970 in which it exists

  std::string_view type() const;
  /// For people and judges: a text as it is, the elements of a collection separated by blanks.
  std::string shown() const;
  bool empty() const;
};

class RedisKeys {
 public:
  /// The time for all calls that follow: milliseconds since 1970.
  void set_now(std::int64_t now) { now_ = now; }
  std::int64_t now() const { return now_; }

  /// nullptr: there is no such key.
  RedisValue* find(std::string_view key);
  /// The existing value, or a new one: an empty text without a time to live.
  RedisValue& put(std::string_view key);
  bool erase(std::string_view key);
  void clear() { values_.clear(); }
  /// Includes expired keys that no call has looked for since.
  std::size_t count() const { return values_.size(); }
  /// Keys with that prefix, in alphabetical order.
  std::vector<std::pair<std::string_view, const RedisValue*>> beginning(std::string_view prefix) const;

 private:
  bool gone(const RedisValue& value) const { return value.expires != RedisValue::kStays && value.expires < now_; }
  void sweep();

  std::int64_t now_ = 0;
  base::TextMap<RedisValue> values_;
  std::size_t sweep_at_ = 1024;  // so many keys: then expired ones are removed, which no call may look for again
};

/// As Redis writes a double.
std::string redis_number(double number);

}  // namespace penstock::simulation
