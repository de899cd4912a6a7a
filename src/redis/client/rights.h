// SPDX-License-Identifier: Apache-2.0
// What Redis allows our user to do, as far as the connection for calls and the one for messages have found out, and
// which news of that are still to be reported. Pure. Only for redis.cc.
#pragma once

#include <optional>
#include <string_view>

#include "redis/wire/self_test.h"

namespace penstock::redis {

class Rights {
 public:
  /// The self-test has refused this; nothing of it: all is allowed.
  void tested(const Refusals& refused) { refused_ = refused; }
  /// SUBSCRIBE works.
  void subscribed();
  /// SUBSCRIBE has failed. False: it is not refused, it failed for another reason.
  bool subscribe_failed(std::string_view why);

  /// Whether our user may publish and receive messages: both are taken as allowed until a test or SUBSCRIBE is refused.
  bool messages_come() const { return subscribed_.value_or(true) && !refused_.stop_messages(); }
  /// By the self-test alone.
  bool messages_pass_the_test() const { return !refused_.stop_messages(); }
  Refusals refused() const;

  struct News {
    std::optional<Refusals> refused;
    std::optional<bool> messages_come;
  };
  /// What has changed since the last call. There is none before both connections were tried.
  News take_news();
  /// Whether messages come was reported by other means.
  void messages_reported() { reported_that_they_come_ = messages_come(); }

 private:
  Refusals refused_, subscribe_refused_;  // by the connection for calls; by the one for messages
  std::optional<bool> subscribed_;        // nothing: not tried yet
  Refusals reported_;                     // by the last news
  bool reported_that_they_come_ = false;  // likewise
};

}  // namespace penstock::redis
