// SPDX-License-Identifier: Apache-2.0
// Notices about the sharing of one upstream's limits: that Redis does not do as it should, and that processes
// differ in their limits; each once, and once when it is over. For shared_limiter.
#pragma once

#include <limits>
#include <string>
#include <string_view>

#include "flow/limiter.h"
#include "redis/limits/agreement.h"
#include "redis/limits/book_reply.h"
#include "redis/limits/limits_text.h"
#include "redis/limits/upstream_calls.h"

namespace penstock::redis {

class SharingNotices {
 public:
  /// `calls` must outlive this.
  explicit SharingNotices(const UpstreamCalls& calls) : calls_(calls) {}

  /// At most once a minute, and not again before all_is_well().
  void complain(std::string_view why) {
    const flow::Time now = calls_.now();
    if (complaining_ || now - complained_ < kBetweenComplaints) return;
    complained_ = now;
    complaining_ = true;
    tell(LogLevel::error,
         "the limits of " + calls_.upstream() + " are not shared as they should be: " + std::string(why));
  }
  /// Redis does as it should.
  void all_is_well() {
    if (!std::exchange(complaining_, false)) return;
    tell(LogLevel::info, "the limits of " + calls_.upstream() + " are shared again");
  }
  /// A reply that tells how many processes there are also tells whether their limits differ.
  void on_reply(const BookReply& reply) {
    if (reply.alive <= 0) return;
    switch (agreement_.update(reply.received, reply.others_limits)) {
      case Agreement::News::none: return;
      case Agreement::News::agree:
        return tell(LogLevel::info, "all processes have the same limits of " + calls_.upstream() + " again");
      case Agreement::News::differ: break;
    }
    tell(LogLevel::warn, "processes share the limits of " + calls_.upstream() +
                             " and differ in them: " + describe_limits_report(calls_.args().limits_report()) + "; " +
                             describe_limits_report(reply.others_limits));
  }
  /// Other processes have other limits, as last reported.
  bool limits_differ(flow::Time now) const { return agreement_.differs(now); }

 private:
  static constexpr flow::Time kBetweenComplaints = 60'000'000;

  void tell(LogLevel level, std::string text) { calls_.shared().notice(level, std::move(text)); }

  const UpstreamCalls& calls_;
  Agreement agreement_;
  flow::Time complained_ = std::numeric_limits<flow::Time>::min() / 2;
  bool complaining_ = false;  // the end of the last complaint was not told yet
};

}  // namespace penstock::redis
