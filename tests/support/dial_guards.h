// SPDX-License-Identifier: Apache-2.0
// Guards of dials for tests: one that allows all, and one that asks a function.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "access/dial_guard.h"

namespace penstock::test {

/// Allows what `allows` says; without it, everything.
class DialGuard final : public access::DialGuard {
 public:
  using Allows = std::function<bool(std::string_view address, std::uint16_t port, std::string_view host)>;

  access::Destination destination(const access::Address& address, std::uint16_t port,
                                  std::string_view host) const override {
    const bool allowed = !allows || allows(access::to_string(address), port, host);
    return allowed ? access::Destination::allowed : access::Destination::denied;
  }

  Allows allows;
};

inline const DialGuard kAllAllowed{};

}  // namespace penstock::test
