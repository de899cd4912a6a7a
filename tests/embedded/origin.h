// SPDX-License-Identifier: Apache-2.0
// A small web server in this process. What it does follows from the path: /hold… answers only after let_go(), /half…
// breaks off in the middle, /big… answers 16 MiB, everything else is told back to the sender.
#pragma once

#include <atomic>
#include <string>
#include <string_view>

#include "support/origin.h"

namespace embedding {

class Origin {
 public:
  std::string authority() const { return origin_.host(); }
  std::string url(std::string_view path) const { return "http://" + authority() + std::string(path); }
  /// What a request to another path than the special ones is answered.
  static std::string echo(std::string_view method, std::string_view path, std::string_view body = {});

  void let_go() { origin_.release(); }
  std::size_t requests() const { return requests_; }
  /// Of those that were held: the most at one time.
  std::size_t most_at_once() const { return most_held_; }

 private:
  void serve(penstock::test::Socket& peer);
  std::string answer(std::string_view method, std::string_view path, std::string_view body);

  std::atomic<std::size_t> requests_ = 0, held_ = 0, most_held_ = 0;
  penstock::test::Origin origin_{[this](auto&, auto& peer, int) { serve(peer); }};
};

}  // namespace embedding
