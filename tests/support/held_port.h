// SPDX-License-Identifier: Apache-2.0
// A port of 127.0.0.1 for a program that wants to be told one. It is bound here for as long as this lives, with
// SO_REUSEADDR and without listening: nobody else is given it, who sets SO_REUSEADDR may listen there, and while nobody
// does, who calls is refused.
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
