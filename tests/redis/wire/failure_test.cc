// SPDX-License-Identifier: Apache-2.0
// What error replies mean.
#include "redis/wire/failure.h"

#include <gtest/gtest.h>

namespace penstock::redis {
namespace {

TEST(Failure, of_a_redis_that_does_not_work_is_an_outage) {
  for (const char* reply :
       {"LOADING Redis is loading the dataset in memory", "MASTERDOWN Connection with MASTER is down",
        "BUSY Redis is busy running a script", "MISCONF Redis is configured to save RDB snapshots",
        "OOM command not allowed when used memory > 'maxmemory'.", "NOREPLICAS Not enough good",
        "CLUSTERDOWN Hash slot not served", "TRYAGAIN Multiple keys request", "NOAUTH Auth",
        "WRONGPASS invalid username-password pair", "READONLY You can't write against a read only replica."}) {
    const auto failure = failure_of(reply);
    EXPECT_TRUE(is_outage(failure.kind)) << reply;
    EXPECT_NE(failure.kind, FailureKind::error) << reply;
    EXPECT_EQ(failure.text, reply);
  }
}

TEST(Failure, of_a_cluster_says_that_it_is_not_supported) {
  for (const char* reply : {"MOVED 3999 127.0.0.1:6381", "ASK 3999 127.0.0.1:6381", "CROSSSLOT Keys in request"}) {
    EXPECT_EQ(failure_of(reply).kind, FailureKind::unsupported) << reply;
    EXPECT_EQ(failure_of(reply).text, "a Redis Cluster is not supported");
  }
}

TEST(Failure, of_one_key_or_one_script_is_no_outage) {
  EXPECT_EQ(failure_of("WRONGTYPE Operation against a key").kind, FailureKind::wrongtype);
  EXPECT_EQ(failure_of("CORRUPT penstock:{a}:head").kind, FailureKind::corrupt);
  EXPECT_EQ(failure_of("NOSCRIPT No matching script").kind, FailureKind::noscript);
  EXPECT_EQ(failure_of("ERR unknown command").kind, FailureKind::error);
  EXPECT_EQ(failure_of("NOPERM this user has no permissions").kind, FailureKind::noperm);
  for (const auto kind :
       {FailureKind::wrongtype, FailureKind::corrupt, FailureKind::noscript, FailureKind::noperm, FailureKind::error}) {
    EXPECT_FALSE(is_outage(kind)) << label(kind);
  }
}

TEST(Failure, is_known_by_the_whole_first_word) {
  EXPECT_EQ(failure_of("BUSYKEY Target key name already exists.").kind, FailureKind::error);
  EXPECT_EQ(failure_of("BUSY").kind, FailureKind::busy);
  EXPECT_EQ(failure_of("").kind, FailureKind::error);
}

TEST(Failure, has_a_label_for_metrics_and_a_short_text) {
  EXPECT_EQ(label(FailureKind::unreachable), "unreachable");
  EXPECT_EQ(label(FailureKind::unsupported), "unsupported");
  EXPECT_EQ(label(FailureKind::readonly), "readonly");
  EXPECT_EQ(label(FailureKind::error), "error");
  EXPECT_LE(failure_of("ERR " + std::string(100'000, 'x')).text.size(), 500u);
}

}  // namespace
}  // namespace penstock::redis
