// SPDX-License-Identifier: Apache-2.0
// Redis behind Sentinel: one master, which the others reach through a relay, two replicas and three sentinels, which
// promote a replica when the master is gone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "support/redis_server.h"
#include "system/redis_stage.h"

namespace penstock::trial {

/// A sentinel and its configuration, which it rewrites itself.
struct SentinelProcess {
  /// It is to watch the master `mymaster` at that port. `more`: lines of its configuration; `options`: words of its
  /// command line.
  SentinelProcess(const std::string& folder, std::uint16_t master, int quorum, const std::string& more = "",
                  const std::vector<std::string>& options = {});

  /// How many `replicas` or `sentinels` it knows.
  std::size_t knows(std::string_view what) { return server.run({"SENTINEL", what, "mymaster"}).items.size(); }
  std::string at() const { return "127.0.0.1:" + std::to_string(server.port()); }

  test::RedisServer server;
};

/// A folder that goes with it.
struct Folder {
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;

  const std::string path;
};

struct SentinelStage {
  /// All know each other, so that a master can be replaced.
  SentinelStage();

  /// For `redis.url`: all sentinels.
  std::string url() const { return "redis+sentinel://" + s1.at() + "," + s2.at() + "," + s3.at() + "/mymaster"; }
  /// Where the sentinels say that the master is.
  std::uint16_t master_now();
  /// The replica that has become the master, once one has.
  test::RedisServer& promoted();

  const Folder folder;
  test::RedisServer master;
  Relay relay{master.port()};
  test::RedisServer replica_one, replica_two;
  SentinelProcess s1, s2, s3;
};

}  // namespace penstock::trial
