// SPDX-License-Identifier: Apache-2.0
// The keys of one database of a simulated Redis: values of Redis' types, each with a time to live if it has one. A key
// whose time has passed is gone for whoever looks for it. Orders of elements are fixed: nothing depends on a hash.
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

/// Fields stay in the order in which they came, as in Redis while a hash is small. Meant for hundreds of fields.
class RedisHash {
 public:
  using Field = std::pair<std::string, std::string>;
  std::string* find(std::string_view field);
  /// True: it is new.
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
  /// True: it is new.
  bool set(std::string_view member, double score);
  bool erase(std::string_view member);
  const std::vector<Member>& members() const { return members_; }
  /// erase_if(member) for each; answers how many went.
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
  std::int64_t expires = kStays;  ///< the last millisecond since 1970 in which it is there

  std::string_view type() const;
  /// For people and judges: a text as it is, elements with blanks between them.
  std::string shown() const;
  bool empty() const;
};

class RedisKeys {
 public:
  /// Of all that follows: milliseconds since 1970.
  void set_now(std::int64_t now) { now_ = now; }
  std::int64_t now() const { return now_; }

  /// nullptr: there is none.
  RedisValue* find(std::string_view key);
  /// The one that there is, or a new one: an empty text without a time to live.
  RedisValue& put(std::string_view key);
  bool erase(std::string_view key);
  void clear() { values_.clear(); }
  /// Those that have gone and were not looked for among them.
  std::size_t count() const { return values_.size(); }
  /// Those that begin so, in alphabetical order.
  std::vector<std::pair<std::string_view, const RedisValue*>> beginning(std::string_view prefix) const;

 private:
  bool gone(const RedisValue& value) const { return value.expires != RedisValue::kStays && value.expires < now_; }
  void sweep();

  std::int64_t now_ = 0;
  base::TextMap<RedisValue> values_;
  std::size_t sweep_at_ = 1024;  // so many keys: those that nobody looks for any more have to go
};

/// As Redis writes a double.
std::string redis_number(double number);

}  // namespace penstock::simulation
