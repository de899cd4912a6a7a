// SPDX-License-Identifier: Apache-2.0
// The users who may use the proxy by name and password: parses the text of an htpasswd file strictly, and gives what a
// check needs. Pure; a value. The check itself is in password.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace penstock::access {

struct UsersError {
  std::size_t line = 0;  ///< from 1; 0: the file as a whole
  std::string message;   ///< repeats nothing of the line but the user's name
};

class Users {
 public:
  /// Reports every error at once. Lines are `NAME:HASH`; blank lines and those that begin with # do not count.
  static std::expected<Users, std::vector<UsersError>> parse(std::string_view text);

  /// The hash to check a password against. For an unknown name it is another user's, always the same one, so that the
  /// check takes no less time; its result must then be ignored.
  struct Entry {
    std::string hash;
    bool known = false;
  };
  /// `key` is a hash of the name that no client can compute.
  Entry entry(std::string_view name, std::uint64_t key) const;
  std::size_t size() const { return hashes_.size(); }
  bool operator==(const Users&) const = default;

 private:
  std::optional<std::string> add(std::string_view line);

  std::unordered_map<std::string, std::size_t> places_;
  std::vector<std::string> hashes_;
};

}  // namespace penstock::access
