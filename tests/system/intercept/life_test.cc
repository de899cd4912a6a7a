// SPDX-License-Identifier: Apache-2.0
// Interception while the program changes: it ends, it is told of other settings and other authorities, and its files
// are not what they were.
#include <gmock/gmock.h>
#include <signal.h>

#include <filesystem>

#include "system/intercepted.h"

namespace penstock::trial {
namespace {

using testing::AllOf;
using testing::HasSubstr;
namespace fs = std::filesystem;

TEST(InterceptedDrain, finishes_what_is_in_flight_inside_and_closes_what_rests) {
  Intercepted stage({.settings = "maxConcurrent: 1", .grace = "20s"});
  stage.origin.otherwise(scripts::held());
  const auto busy = stage.open(), waiting = stage.open(), idle = stage.open();
  const auto silent = stage.connect(stage.trusting()), shaking = stage.connect(stage.trusting());
  test::TlsClient half(stage.trusting());
  half.shake();
  shaking->send(half.take_out().substr(0, 100));
  busy->send(stage.request("/busy"));
  ASSERT_TRUE(stage.origin.await(1));
  waiting->send(stage.request("/waiting"));
  ASSERT_TRUE(stage.daemon.await_pending("api", 1));
  stage.daemon.signal(SIGTERM);
  ASSERT_TRUE(eventually([&] { return stage.daemon.admin("/readyz").status == 503; }));
  stage.origin.release_all();
  EXPECT_EQ(busy->reply().body, "released");
  EXPECT_EQ(waiting->reply().body, "released");
  for (auto* client : {busy.get(), waiting.get(), idle.get(), silent.get(), shaking.get()})
    EXPECT_TRUE(client->closed());
  const auto served = Clock::now();
  EXPECT_EQ(stage.daemon.exit_code(10s), 0) << "long before the grace is over";
  EXPECT_TRUE(within(2s + kLate + (is_sanitized() ? 8s : 0s), served)) << "clients that do not close get two seconds";
  EXPECT_EQ(stage.origin.count(), 2U);
}

TEST(InterceptedDrain, answers_inside_when_the_grace_is_over) {
  Intercepted stage({.settings = "maxConcurrent: 1", .grace = "300ms"});
  stage.origin.otherwise(scripts::held());
  const auto busy = stage.open(), waiting = stage.open();
  busy->send(stage.request("/busy"));
  ASSERT_TRUE(stage.origin.await(1));
  waiting->send(stage.request("/waiting"));
  ASSERT_TRUE(stage.daemon.await_pending("api", 1));
  stage.daemon.signal(SIGTERM);
  const Reply late = waiting->reply();
  expect_own_answer(late, {503}, "connection_limit_reached");
  EXPECT_THAT(late.reason, HasSubstr("shutting down"));
  EXPECT_EQ(stage.daemon.exit_code(), 0);
  stage.origin.release_all();
}

TEST(InterceptedReload, begins_with_the_next_connect_and_leaves_tunnels_alone) {
  Intercepted stage({.https = "tunnel"});
  const auto tunnel = stage.connect({.ca = stage.roots.file()});
  ASSERT_TRUE(tunnel->shake());
  stage.scene.https = "intercept";
  ASSERT_TRUE(stage.daemon.reloads(stage.yaml()));
  EXPECT_EQ(stage.open()->tls.subject(), "DNS:good.test");
  stage.expect_served(*tunnel);
  EXPECT_EQ(stage.fetch("/inside").status, 200);
  EXPECT_EQ(stage.origin.seen().back().target, "/inside");
  EXPECT_EQ(stage.daemon.status("api").at("handshakes").at("done"), 2);
}

TEST(InterceptedReload, ends_with_the_next_connect_and_goes_on_inside_open_ones) {
  Intercepted stage;
  const auto inside = stage.open();
  const auto early = stage.connect(stage.trusting());  // its hello comes when the authority is gone
  stage.expect_served(*inside);
  stage.scene.https = "tunnel";
  ASSERT_TRUE(stage.daemon.reloads(stage.yaml()));
  stage.expect_served(*inside);
  EXPECT_TRUE(early->shake()) << "its leaf was at hand when it came";
  stage.expect_served(*early);
  const auto tunnel = stage.connect({.ca = stage.roots.file(), .host = "good.test"});
  ASSERT_TRUE(tunnel->shake()) << "the origin's own";
  stage.expect_served(*tunnel);
  const auto connects = stage.daemon.await_events(1, [](const Json& event) { return event.contains("tunnel"); });
  EXPECT_EQ(connects.back().at("method"), "CONNECT");
}

TEST(InterceptedReload, takes_on_another_authority_for_the_next_handshake) {
  Intercepted stage;
  const auto before = stage.open();
  const auto between = stage.connect(stage.trusting());
  const test::Authority next;
  ASSERT_TRUE(stage.daemon.reloads(stage.yaml(&next)));
  stage.expect_served(*before);
  EXPECT_TRUE(between->shake()) << "its leaf was made when it came";
  test::Shaking how = stage.trusting();
  how.resumes = before->tls.session();
  EXPECT_FALSE(stage.connect(how)->shake()) << "whom it trusts is nobody here any more, ticket or not";
  how = {.ca = next.file(), .host = "good.test"};
  const auto after = stage.connect(how);
  ASSERT_TRUE(after->shake()) << after->tls.words();
  EXPECT_NE(after->tls.issuer(), before->tls.issuer());
  stage.expect_served(*after);
}

TEST(InterceptAuthority, whose_key_vanishes_is_needed_again_at_the_next_start_only) {
  Intercepted stage;
  const auto before = stage.open();
  fs::remove(stage.ours.key_file());
  stage.expect_served(*before);
  EXPECT_EQ(stage.open("new.good.test")->tls.subject(), "DNS:new.good.test") << "a leaf that has still to be made";
  EXPECT_FALSE(stage.daemon.reloads());
  EXPECT_THAT(stage.daemon.diagnostics(), HasSubstr("intercept.key: cannot read " + stage.ours.key_file()));
  EXPECT_EQ(stage.open("other.good.test")->tls.subject(), "DNS:other.good.test");
  stage.expect_served(*before);
  const Finished again = run_program({"run", "--config", stage.daemon.file()});
  EXPECT_EQ(again.code, 1);
  EXPECT_THAT(again.err, AllOf(HasSubstr(stage.ours.key_file()), HasSubstr("No such file")));
}

}  // namespace
}  // namespace penstock::trial
