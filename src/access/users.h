// SPDX-License-Identifier: Apache-2.0
// Who may use the proxy by name and password: the text of an htpasswd file, read strictly, and what of it a check
// needs. Pure; a value. Whether a password is right is for password.h.
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
  /// Every error at once. Lines are `NAME:HASH`; blank ones and those that begin with # do not count.
  static std::expected<Users, std::vector<UsersError>> parse(std::string_view text);

  /// What a password of this user is held against. Of an unknown name it is the hash of somebody else, always the same
  /// one, so that a check takes no less time; it must not be believed then.
  struct Entry {
    std::string hash;
    bool known = false;
  };
  /// `key` is a hash of the name that nobody outside can compute.
  Entry entry(std::string_view name, std::uint64_t key) const;
  std::size_t size() const { return hashes_.size(); }
  bool operator==(const Users&) const = default;

 private:
  std::optional<std::string> add(std::string_view line);

  std::unordered_map<std::string, std::size_t> places_;
  std::vector<std::string> hashes_;
};

}  // namespace penstock::access
