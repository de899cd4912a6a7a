// SPDX-License-Identifier: Apache-2.0
// The stage of the tests about limits: the origin is the upstream `api`, and what came there is compared with a
// schedule. Times are the origin's own: a request can be seen too late there, but never too early.
#pragma once

#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "system/stage.h"

namespace penstock::trial {

/// Keys of a file: the upstream `api`, which is every origin on 127.0.0.1, with these settings.
std::string api(std::string_view settings);
/// Keys of a file: who may go where.
std::string shut_for(std::string_view access);

struct Limited : Stage {
  /// `settings` are keys of the upstream: "rate: 10/s, maxConcurrent: 5".
  explicit Limited(std::string_view settings, std::string_view grace = "250ms");

  /// From now on arrivals are counted from here.
  void begin();
  /// When, after begin(), requests came whose paths begin so; ascending.
  std::vector<Clock::duration> arrivals(std::string_view path = "/") const;
  /// The k-th of them, from 0, came at due(k) or up to kLate after it, and there are `count`. The machine's lateness
  /// is added from begin() on, for a pacer paces the next one from a departure that was late.
  void expect_arrivals(std::size_t count, const std::function<Clock::duration(int k)>& due,
                       std::string_view path = "/") const;

  /// So many clients, one after another, with such a request each.
  void send(int count, std::string_view path = "/", std::string_view lines = "");
  /// One more, known to have arrived when this returns.
  Client& send_one(std::string_view path, std::string_view lines = "");
  /// Whoever has sent gets a 200 of the origin's.
  void expect_all_served();

  /// `limitedBy` of the events of that kind, in their order; empty where it is missing.
  std::vector<std::string> limited_by(std::size_t count, const std::string& kind) const;

  std::deque<Client> clients;
  Moment start;

 private:
  std::size_t arrived() const;

  std::size_t before_ = 0;  // arrivals that do not count
};

/// It is Penstock's own, says when to come back, and names the limit.
void expect_limited(const Reply& reply, int status, std::string_view limit);
/// Its Retry-After; 0: none.
int retry_after(const Reply& reply);

}  // namespace penstock::trial
