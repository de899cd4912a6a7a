// SPDX-License-Identifier: Apache-2.0
// Uses libcrypt, which supports bcrypt and SHA-512.
#include "access/password.h"

#include <crypt.h>

#include <memory>
#include <string_view>

namespace penstock::access {

namespace {
bool same(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned char difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) difference |= static_cast<unsigned char>(a[i] ^ b[i]);
  return difference == 0;
}
}  // namespace

bool is_password(const std::string& password, const std::string& hash) {
  const auto room = std::make_unique<crypt_data>();  // 32 KiB: too large for a stack
  const char* made = crypt_r(password.c_str(), hash.c_str(), room.get());
  return made && same(made, hash);
}

}  // namespace penstock::access
