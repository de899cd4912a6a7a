// SPDX-License-Identifier: Apache-2.0
// A port of 127.0.0.1 for a program that must be told one. While a HeldPort lives, the port is bound with SO_REUSEADDR
// but not listened on: the system gives it to no other socket, a program that sets SO_REUSEADDR may listen on it, and
// until one does, connections are refused.
#pragma once

#include <cstdint>

namespace penstock::test {

class HeldPort {
 public:
  HeldPort();
  ~HeldPort();
  HeldPort(const HeldPort&) = delete;
  HeldPort& operator=(const HeldPort&) = delete;

  std::uint16_t number() const { return number_; }

 private:
  const int fd_;
  std::uint16_t number_ = 0;
};

}  // namespace penstock::test
