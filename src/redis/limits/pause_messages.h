// SPDX-License-Identifier: Apache-2.0
// What processes tell each other of the pauses of an upstream, beside those that Redis keeps as limits. The right to
// send the one request of all processes that goes first when a pause is over: Redis keeps it for a second and a half,
// and the process whose probe was answered tells all others. And pauses of requests with the same credentials. For
// shared_limiter and pausing_limiter.
#pragma once

#include <string>
#include <string_view>

#include "base/weak_self.h"
#include "flow/group_hash.h"
#include "flow/limiter.h"
#include "redis/limits/announced_pauses.h"
#include "redis/limits/probed_elsewhere.h"
#include "redis/limits/shared_redis.h"

namespace penstock::redis {

class PauseMessages final : public flow::PauseSharing {
 public:
  /// `upstream` is the name in every process.
  PauseMessages(SharedRedis& shared, std::string_view upstream, flow::LimiterEvents& events);

  /// Without Redis each process probes for itself.
  bool ask_to_probe(std::string_view group) override;
  void end_probe(std::string_view group, bool opened) override;
  void tell(std::string_view scope, flow::Time length) override;
  void tell_shortened(flow::Time length) override;
  /// That of the upstream or of a group began here.
  void tell_begun(std::string_view group, flow::Time length);
  /// Another process told of a pause of the upstream, or of that group. It is answered once, also after its end: so
  /// that this process, too, has its gate, and not all that arrive then leave beside another's probe.
  bool answer(std::string_view group, flow::Booking& booking);
  /// "opened <group's hash, or ->", "pause <that> <microseconds> <sender>", "pause-of <scope> <microseconds> <sender>"
  /// and "shorten <sender> <microseconds>", from any process, this one included. Other messages are ignored.
  void message(std::string_view words);

 private:
  bool call(const std::string& hash, flow::Time length, Call::Done done);
  void publish(std::string_view word, std::string_view rest);
  void opened(std::string_view hash);
  void paused(std::string_view words);
  void scope_paused(std::string_view words);
  void shortened(std::string_view words);

  SharedRedis& shared_;
  const std::string upstream_;
  flow::LimiterEvents& events_;
  const flow::GroupHash hash_;
  ProbedElsewhere elsewhere_;
  AnnouncedPauses announced_;
  base::WeakSelf<PauseMessages> self_{this};
};

}  // namespace penstock::redis
