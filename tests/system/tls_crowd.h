// SPDX-License-Identifier: Apache-2.0
// Many clients that shake hands at once inside their CONNECTs, played by one thread.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <string>

#include "system/intercepted.h"

namespace penstock::trial {

class TlsCrowd {
 public:
  /// So many clients that have their 200, each for the host that `host_of` says, and have said nothing yet.
  TlsCrowd(const Intercepted& stage, std::size_t count, const std::function<std::string(std::size_t)>& host_of);
  ~TlsCrowd();

  /// All say hello, and go on until each has shaken hands or has been refused; false once patience is over.
  bool shake(Clock::duration patience);
  std::size_t done() const { return done_; }
  std::size_t failed() const { return failed_; }

 private:
  struct One;
  void work(One& one);

  std::deque<One> all_;
  std::size_t done_ = 0, failed_ = 0;
};

}  // namespace penstock::trial
