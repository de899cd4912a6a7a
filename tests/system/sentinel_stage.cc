// SPDX-License-Identifier: Apache-2.0
// See sentinel_stage.h. Sentinels take half a second to miss a master, and a second or two to agree on the next.
#include "system/sentinel_stage.h"

#include <filesystem>
#include <fstream>

namespace penstock::trial {

namespace {

std::vector<std::string> words_for_sentinel(const std::string& folder, std::uint16_t master, int quorum,
                                            const std::string& more, const std::vector<std::string>& options) {
  static int count = 0;
  const std::string path = folder + "/sentinel-" + std::to_string(++count) + ".conf";
  std::ofstream(path) << "sentinel monitor mymaster 127.0.0.1 " << master << ' ' << quorum
                      << "\nsentinel down-after-milliseconds mymaster 500\nsentinel failover-timeout mymaster 3000\n"
                      << more;
  std::vector<std::string> words{path, "--sentinel"};
  words.insert(words.end(), options.begin(), options.end());
  return words;
}

std::vector<std::string> words_for_replica(std::uint16_t master) {
  return {"--replicaof", "127.0.0.1", std::to_string(master), "--repl-diskless-sync-delay", "0"};
}

}  // namespace

SentinelProcess::SentinelProcess(const std::string& folder, std::uint16_t master, int quorum, const std::string& more,
                                 const std::vector<std::string>& options)
    : server(words_for_sentinel(folder, master, quorum, more, options)) {}

Folder::Folder() : path(new_folder()) {}
Folder::~Folder() { std::filesystem::remove_all(path); }

SentinelStage::SentinelStage()
    : replica_one(words_for_replica(relay.port())),
      replica_two(words_for_replica(relay.port())),
      s1(folder.path, relay.port(), 2),
      s2(folder.path, relay.port(), 2),
      s3(folder.path, relay.port(), 2) {
  for (auto* one : {&s1, &s2, &s3})
    EXPECT_TRUE(eventually([&] { return one->knows("replicas") == 2 && one->knows("sentinels") == 2; }));
  for (auto* one : {&replica_one, &replica_two})
    EXPECT_TRUE(eventually([&] {
      return one->run({"INFO", "replication"}).text.find("master_link_status:up") != std::string::npos;
    }));
}

std::uint16_t SentinelStage::master_now() {
  const auto told = s2.server.run({"SENTINEL", "GET-MASTER-ADDR-BY-NAME", "mymaster"});
  return told.items.size() == 2 ? static_cast<std::uint16_t>(std::stoi(told.items[1].text)) : 0;
}

test::RedisServer& SentinelStage::promoted() {
  EXPECT_TRUE(eventually([&] { return master_now() != relay.port(); }, 40s));
  return master_now() == replica_one.port() ? replica_one : replica_two;
}

}  // namespace penstock::trial
