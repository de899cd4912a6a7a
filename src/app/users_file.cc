// SPDX-License-Identifier: Apache-2.0
// See users_file.h.
#include "app/users_file.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <utility>

namespace penstock::app {

namespace {

constexpr const char* kKey = " (access.users)";  // behind faults that are told with a place in the file of users

std::expected<access::Users, std::vector<ConfigError>> read_users(const std::string& file) {
  std::ifstream stream{file, std::ios::binary};
  std::ostringstream text;
  const bool empty = stream.is_open() && stream.peek() == std::ifstream::traits_type::eof() && !stream.bad();
  if (!empty && !(text << stream.rdbuf())) {
    const std::string why = errno == 0 ? "it is no file" : std::strerror(errno);
    return std::unexpected(std::vector{ConfigError{.file = file, .message = "cannot be read: " + why}});
  }
  auto users = access::Users::parse(text.str());
  if (users) return *std::move(users);
  std::vector<ConfigError> errors;
  for (auto& error : users.error()) {
    errors.push_back(
        {.file = file, .line = static_cast<int>(error.line), .column = 1, .message = error.message + kKey});
  }
  return std::unexpected(std::move(errors));
}

}  // namespace

std::expected<std::optional<access::Users>, std::vector<ConfigError>> users_of(const AccessConfig& access) {
  if (access.users.empty()) return std::nullopt;
  return read_users(access.users);
}

}  // namespace penstock::app
