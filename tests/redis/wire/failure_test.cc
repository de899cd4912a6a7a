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
        "OOM command not allowed when used memory > 'maxmemory'.", "NOREPLICAS Not enough good", "NOAUTH Auth",
        "WRONGPASS invalid username-password pair", "READONLY You can't write against a read only replica."}) {
    const auto failure = failure_of(reply);
    EXPECT_TRUE(is_outage(failure.kind)) << reply;
    EXPECT_NE(failure.kind, FailureKind::error) << reply;
    EXPECT_TRUE(failure.text.starts_with(reply)) << failure.text;
  }
}

TEST(Failure, that_people_can_mend_is_known_as_such) {
  EXPECT_EQ(failure_of("NOAUTH Authentication required.").advice, Advice::log_in);
  EXPECT_EQ(failure_of("WRONGPASS no.").advice, Advice::see_login);
  EXPECT_EQ(failure_of("READONLY You can't write").advice, Advice::replica);
  EXPECT_EQ(failure_of("LOADING Redis is loading").advice, Advice::none);
}

TEST(Failure, of_one_slot_of_a_cluster_is_no_outage) {
  for (const auto* reply : {"CLUSTERDOWN Hash slot not served", "TRYAGAIN Multiple keys request",
                            "MOVED 3999 127.0.0.1:6381", "ASK 3999 127.0.0.1:6381"}) {
    const auto failure = failure_of(reply);
    EXPECT_TRUE(is_of_one_slot(failure.kind)) << reply;
    EXPECT_FALSE(is_outage(failure.kind)) << reply;
    EXPECT_EQ(failure.text, reply) << "it says where to go";
  }
  for (const auto kind : {FailureKind::timeout, FailureKind::readonly, FailureKind::error, FailureKind::unsupported})
    EXPECT_FALSE(is_of_one_slot(kind)) << label(kind);
}

TEST(Failure, of_keys_of_several_slots_says_that_it_is_a_cluster) {
  EXPECT_EQ(failure_of("CROSSSLOT Keys in request").kind, FailureKind::unsupported);
  EXPECT_EQ(failure_of("CROSSSLOT Keys in request").text, kIsCluster);
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
