// SPDX-License-Identifier: Apache-2.0
// The right to send the one request of all processes that goes first when a pause of an upstream, or of one of its
// groups, is over. Redis keeps it for a second and a half; when the probe was answered, the process that sent it tells
// all others. For shared_limiter and pausing_limiter.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/weak_self.h"
#include "flow/group_hash.h"
#include "flow/limiter.h"
#include "redis/limits/shared_redis.h"

namespace penstock::redis {

class ProbeRights {
 public:
  ProbeRights(SharedRedis& shared, std::string_view upstream, flow::LimiterEvents& events);

  /// As Limiter::ask_to_probe(). Without Redis each process probes for itself.
  bool ask(flow::Time now, std::string_view group, flow::Time& until);
  /// As Limiter::end_probe().
  void end(std::string_view group, bool opened);
  /// "opened <group's hash, or ->", from any process. Other messages are ignored.
  void message(std::string_view words);

 private:
  std::string hash_of(std::string_view group) const;
  bool call(const std::string& hash, flow::Time length, Call::Done done);

  SharedRedis& shared_;
  const std::string upstream_;
  flow::LimiterEvents& events_;
  const flow::GroupHash hash_;
  std::map<std::string, std::string, std::less<>> asked_;  // groups for which another process had the right, by hash
  base::WeakSelf<ProbeRights> self_{this};
};

}  // namespace penstock::redis
