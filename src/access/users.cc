// SPDX-License-Identifier: Apache-2.0
// One user per line: the name, then a hash, which must be a whole bcrypt or SHA-512 hash of an accepted cost.
#include "access/users.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace penstock::access {

namespace {

constexpr std::size_t kLongestName = 255;
constexpr int kDearestBcrypt = 14;       // about a second
constexpr long kDearestSha = 1'000'000;  // as long
constexpr std::string_view kHow = "; write it with htpasswd -B, or with openssl passwd -6";

bool is_crypt_char(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' || c == '/';
}

bool all_crypt_chars(std::string_view text) { return std::all_of(text.begin(), text.end(), is_crypt_char); }

std::optional<long> number(std::string_view digits) {
  long value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc{} || end != digits.data() + digits.size() || digits.starts_with('-')) return std::nullopt;
  return value;
}

// `$2y$CC$`, then 22 characters of salt and 31 of hash.
std::optional<std::string> wrong_with_bcrypt(std::string_view hash) {
  constexpr std::size_t kSize = 60, kSaltAt = 7;
  const auto cost = hash.size() == kSize && hash[6] == '$' ? number(hash.substr(4, 2)) : std::nullopt;
  if (!cost || !all_crypt_chars(hash.substr(kSaltAt))) return "has a bcrypt hash that is cut or damaged";
  if (*cost < 4 || *cost > kDearestBcrypt) return "has a bcrypt hash of a cost other than 4 to 14";
  return std::nullopt;
}

// `$6$[rounds=N$]SALT$`, then 86 characters of hash.
std::optional<std::string> wrong_with_sha(std::string_view hash) {
  constexpr std::string_view kRounds = "rounds=";
  constexpr std::size_t kSize = 86, kLongestSalt = 16;
  hash.remove_prefix(3);
  if (hash.starts_with(kRounds)) {
    const auto end = std::min(hash.find('$'), hash.size());
    const auto rounds = number(hash.substr(kRounds.size(), end - kRounds.size()));
    if (!rounds || *rounds < 1000 || *rounds > kDearestSha)
      return "has a SHA-512 hash of rounds other than 1000 to 1000000";
    hash.remove_prefix(std::min(end + 1, hash.size()));
  }
  const auto salt = std::min(hash.find('$'), hash.size());
  const bool sound = salt <= kLongestSalt && hash.size() == salt + 1 + kSize && all_crypt_chars(hash.substr(0, salt)) &&
                     all_crypt_chars(hash.substr(salt + 1));
  return sound ? std::nullopt : std::optional<std::string>("has a SHA-512 hash that is cut or damaged");
}

std::optional<std::string> wrong_with_hash(std::string_view hash) {
  for (const std::string_view bcrypt : {"$2y$", "$2b$", "$2a$"}) {
    if (hash.starts_with(bcrypt)) return wrong_with_bcrypt(hash);
  }
  if (hash.starts_with("$6$")) return wrong_with_sha(hash);
  if (hash.empty()) return "has no password" + std::string(kHow);
  return "has a password that is neither bcrypt ($2y$, $2b$, $2a$) nor SHA-512 ($6$)" + std::string(kHow);
}

std::optional<std::string> wrong_with_name(std::string_view name) {
  const auto is_control = [](unsigned char c) { return c < ' ' || c == 0x7f; };
  if (name.empty()) return "the line begins with a colon: there is no name";
  if (name.size() > kLongestName) return "the name is longer than 255 bytes";
  if (std::any_of(name.begin(), name.end(), is_control)) return "the name has a control character";
  return std::nullopt;
}

}  // namespace

std::expected<Users, std::vector<UsersError>> Users::parse(std::string_view text) {
  Users users;
  std::vector<UsersError> errors;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const auto end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.find_first_not_of(" \t") == std::string_view::npos || line.starts_with('#')) continue;
    if (auto wrong = users.add(line)) errors.push_back({number, *std::move(wrong)});
  }
  if (users.hashes_.empty() && errors.empty()) errors.push_back({0, "there is no user in it" + std::string(kHow)});
  if (!errors.empty()) return std::unexpected(std::move(errors));
  return users;
}

std::optional<std::string> Users::add(std::string_view line) {
  const auto colon = line.find(':');
  if (colon == std::string_view::npos) return "the line is not of the form NAME:HASH" + std::string(kHow);
  const std::string name(line.substr(0, colon));
  if (auto wrong = wrong_with_name(name)) return wrong;
  if (!places_.try_emplace(name, hashes_.size()).second) return "user '" + name + "' is there twice";
  hashes_.emplace_back(line.substr(colon + 1));
  if (auto wrong = wrong_with_hash(hashes_.back())) return "user '" + name + "' " + *wrong;
  return std::nullopt;
}

Users::Entry Users::entry(std::string_view name, std::uint64_t key) const {
  const auto found = places_.find(std::string(name));
  if (found != places_.end()) return {hashes_[found->second], true};
  return {hashes_[key % hashes_.size()], false};
}

}  // namespace penstock::access
