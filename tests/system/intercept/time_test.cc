// SPDX-License-Identifier: Apache-2.0
// Interception while days go by: leaves that are over are made anew, and an authority that ends is told of.
#include <gmock/gmock.h>

#include "system/clockwork.h"
#include "system/intercepted.h"

namespace penstock::trial {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::int64_t kDay = 24 * 60 * 60;
constexpr std::int64_t kAuthorityLasts = 365 * kDay;  // the tests' own

struct Aging : Clockwork, Intercepted {
  Aging() : Intercepted({.environment = environment()}) {}

  /// Of the certificate that is shown now: when it ends.
  std::int64_t end_of_leaf() const {
    const auto client = connect({.looks_later = true});
    EXPECT_TRUE(client->shake()) << client->tls.words();
    expect_served(*client);
    return client->tls.ends();
  }
};

TEST(InterceptedTime, makes_a_leaf_anew_whose_days_are_nearly_over) {
  constexpr std::int64_t kAtMost = 600;  // seconds that this test may take
  Aging stage;
  const auto first = stage.end_of_leaf();
  EXPECT_NEAR(first, time(nullptr) + 30 * kDay, kAtMost);
  stage.set(28 * kDay);
  EXPECT_EQ(stage.end_of_leaf(), first) << "still good";
  stage.set(29 * kDay + 3600);
  const auto second = stage.end_of_leaf();
  EXPECT_NEAR(second, first + 29 * kDay + 3600, kAtMost) << "another, from then on";
  stage.set(29 * kDay + 7200);
  EXPECT_EQ(stage.end_of_leaf(), second) << "and that is kept";
}

TEST(InterceptedTime, tells_why_there_are_no_leaves_when_the_authority_has_expired) {
  Aging stage;
  stage.end_of_leaf();
  stage.set(kAuthorityLasts + kDay);
  const auto client = stage.connect({.looks_later = true});
  EXPECT_FALSE(client->shake());
  EXPECT_TRUE(client->closed());
  const auto failed = stage.failures(1);
  ASSERT_EQ(failed.size(), 1U);
  EXPECT_EQ(failed[0].at("event"), "refused");
  EXPECT_EQ(failed[0].at("error"), "proxy_configuration_error");
  EXPECT_EQ(failed[0].at("detail"), "there is no certificate for good.test: the authority has expired (intercept.ca)");
  EXPECT_EQ(stage.origin.connections(), 1U) << "of the first client";
}

TEST(InterceptedTime, warns_while_it_runs_in_the_last_month_of_the_authority) {
  Aging stage;
  EXPECT_THAT(stage.daemon.diagnostics(), Not(HasSubstr("expires")));
  EXPECT_NEAR(stage.daemon.metric("penstock_intercept_authority_end_timestamp_seconds"),
              static_cast<double>(time(nullptr) + kAuthorityLasts), 3600);
  const Aging too_late;  // beside the other: they look once in ten seconds
  stage.set(kAuthorityLasts - 10 * kDay);
  too_late.set(kAuthorityLasts + kDay);
  EXPECT_TRUE(eventually([&] { return stage.daemon.diagnostics().contains("expires"); }));
  EXPECT_THAT(stage.daemon.diagnostics(), HasSubstr("intercept.ca: the authority expires in 9 days"));
  EXPECT_TRUE(eventually([&] { return too_late.daemon.diagnostics().contains("has expired"); }));
}

}  // namespace
}  // namespace penstock::trial
