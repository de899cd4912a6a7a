// SPDX-License-Identifier: Apache-2.0
// Clients that do not take our certificate: they are told of, do not storm, and may get tunnels where that is wanted.
#include <gmock/gmock.h>

#include <atomic>
#include <fstream>
#include <thread>
#include <vector>

#include "system/intercepted.h"

namespace penstock::trial {
namespace {

using testing::HasSubstr;
using testing::Not;

/// Trusts nobody, and says so.
test::Shaking distrusting(const std::string& host = "good.test", int version = 13) {
  return {.host = host, .most = version};
}

struct Distrusted : Intercepted {
  using Intercepted::Intercepted;

  /// A client that rejects us.
  void reject(const std::string& host = "good.test", const char* from = nullptr) const {
    const auto client = connect(distrusting(host), host, "", from);
    EXPECT_FALSE(client->shake());
    EXPECT_TRUE(client->closed());
  }
  std::size_t count(const std::string& result) const { return daemon.status("api").at("handshakes").at(result); }
  /// Until so many of that kind are known.
  bool await_count(const std::string& result, std::size_t wanted) const {
    return eventually([&] { return count(result) == wanted; });
  }
  /// Who answers a client that asks now, and trusts both: the origin, or we in its place.
  bool is_tunnelled(const std::string& host = "good.test", const char* from = nullptr) const {
    const auto client = connect({.looks_later = true}, host, "", from);
    EXPECT_TRUE(client->shake());
    return client->tls.subject().contains("other.test");
  }
};

TEST(CertificateRejections, is_an_event_with_its_reason_and_counted) {
  Distrusted stage;
  std::size_t so_far = 0;
  for (const int version : {12, 13}) {
    SCOPED_TRACE(version);
    for (const auto& [how, says] :
         {std::pair(distrusting("good.test", version), "unknown CA"s),
          std::pair(test::Shaking{.ca = stage.ours.file(), .host = "pinned.test", .sni = "good.test", .most = version},
                    "bad certificate"s)}) {
      const auto client = stage.connect(how);
      EXPECT_FALSE(client->shake());
      EXPECT_TRUE(client->closed());
      const auto failed = stage.failures(++so_far);
      ASSERT_EQ(failed.size(), so_far);
      EXPECT_EQ(failed.back().at("event"), "gone");
      EXPECT_EQ(failed.back().at("error"), "tls_alert_received");
      EXPECT_EQ(failed.back().at("detail"), "client rejected our certificate for good.test: it says: " + says);
      EXPECT_EQ(failed.back().at("upstream"), "api");
      EXPECT_EQ(failed.back().at("host"), "good.test");
      EXPECT_EQ(failed.back().at("path"), "");
      EXPECT_EQ(stage.fetch("/").status, 200) << "who trusts us is none the worse";
    }
  }
  EXPECT_EQ(stage.count("rejected"), 4U);
  EXPECT_EQ(stage.daemon.metric("penstock_client_handshakes_total", "result=\"rejected\""), 4);
  EXPECT_EQ(stage.count("done"), 4U);
  EXPECT_EQ(stage.origin.count(), 4U);
}

TEST(CertificateRejections, may_be_silent_behind_the_handshake) {
  Distrusted stage;
  const std::vector<std::function<void(TlsCaller&)>> ways{[](TlsCaller& client) { client.close(); },
                                                          [](TlsCaller& client) { client.cut(); },
                                                          [](TlsCaller& client) { client.reset(); }};
  for (const auto& leaves : ways) {
    test::Shaking how = distrusting();
    how.looks_later = true;
    const auto client = stage.connect(how);
    ASSERT_TRUE(client->shake());
    leaves(*client);
  }
  const auto failed = stage.failures(3);
  ASSERT_EQ(failed.size(), 3U);
  for (const auto& event : failed) {
    EXPECT_EQ(event.at("event"), "gone");
    EXPECT_EQ(event.at("detail"),
              "client left when it had our certificate for good.test, without a word: it may not trust it");
  }
  EXPECT_EQ(stage.count("left"), 3U);
  EXPECT_EQ(stage.count("done"), 3U);
}

TEST(CertificateRejections, twice_in_a_row_gets_that_client_a_tunnel_to_that_host) {
  Distrusted stage({.intercept = "bypassOnPin: true"});
  stage.reject();
  ASSERT_TRUE(stage.await_count("rejected", 1));
  stage.reject();
  ASSERT_TRUE(stage.await_count("rejected", 2));
  const auto client = stage.connect({.ca = stage.roots.file(), .host = "good.test"});
  ASSERT_TRUE(client->shake()) << client->tls.words();
  EXPECT_THAT(client->tls.subject(), HasSubstr("other.test")) << "the origin's own";
  stage.expect_served(*client);
  client->half_close();
  EXPECT_TRUE(client->closed());
  EXPECT_EQ(stage.daemon.await_events(1, "complete").at(0).at("tunnel"), true);
  EXPECT_FALSE(stage.is_tunnelled("good.test", "127.0.0.2")) << "another client";
  EXPECT_FALSE(stage.is_tunnelled("sub.good.test")) << "another host";
  EXPECT_TRUE(stage.is_tunnelled()) << "still";
  EXPECT_EQ(stage.count("bypassed"), 2U);
}

TEST(CertificateRejections, is_of_one_user_where_users_must_name_themselves) {
  constexpr const char* kHash = ":$2y$04$abcdefghijklmnopqrstuu/LVz6MZlItEy42I2juLihZ66HnQx/cy\n";  // open sesame
  const std::string ann = "Proxy-Authorization: Basic YW5uOm9wZW4gc2VzYW1l\r\n";
  const std::string bea = "Proxy-Authorization: Basic YmVhOm9wZW4gc2VzYW1l\r\n";
  const test::Authority folder;
  const std::string users = folder.folder() + "/users";
  std::ofstream(users) << "ann" << kHash << "bea" << kHash;
  Distrusted stage({.intercept = "bypassOnPin: true", .access = "users: " + users});
  for (std::size_t i = 1; i <= 2; ++i) {
    EXPECT_FALSE(stage.connect(distrusting(), "good.test", ann)->shake());
    ASSERT_TRUE(stage.await_count("rejected", i));
  }
  const auto met_by = [&](const std::string& user) {
    const auto client = stage.connect({.looks_later = true}, "good.test", user);
    EXPECT_TRUE(client->shake());
    return client->tls.subject();
  };
  EXPECT_THAT(met_by(ann), HasSubstr("other.test")) << "the origin's own";
  EXPECT_THAT(met_by(bea), Not(HasSubstr("other.test"))) << "though from the same address";
}

TEST(CertificateRejections, of_a_program_that_tries_on_and_on_does_not_shut_out_who_trusts_us) {
  Distrusted stage;
  for (std::size_t i = 1; i <= 5; ++i) {
    stage.reject();
    ASSERT_TRUE(stage.await_count("rejected", i));
  }
  std::atomic<bool> enough = false;
  std::vector<std::jthread> others;
  for (int i = 0; i < 6; ++i) {
    others.emplace_back([&] {
      while (!enough) stage.reject();
    });
  }
  EXPECT_TRUE(eventually([&] { return stage.count("rejected") >= 6; })) << "they are at it";
  EXPECT_EQ(stage.fetch("/").status, 200) << "in its turn";
  enough = true;
}

/// An entry with a path marks its whole host, and a tunnel shows no path.
TEST(CertificateRejections, in_a_host_that_is_named_for_a_path_gets_a_tunnel_of_that_entry) {
  for (const std::string more : {"", "unmatched: deny\n"}) {
    SCOPED_TRACE(more);
    Distrusted stage({.match = "good.test/v1", .intercept = "bypassOnPin: true", .yaml = more});
    for (std::size_t i = 1; i <= 2; ++i) {
      stage.reject();
      ASSERT_TRUE(stage.await_count("rejected", i));
    }
    const auto client = stage.connect({.ca = stage.roots.file(), .host = "good.test"});
    ASSERT_TRUE(client->shake()) << client->tls.words();
    stage.expect_served(*client);
    client->half_close();
    EXPECT_TRUE(client->closed()) << "the origin ends it too; a close would race with its last words, and be a reset";
    const Json ended = stage.daemon.await_event("complete");
    EXPECT_EQ(ended.at("tunnel"), true);
    EXPECT_EQ(ended.at("upstream"), "api");
  }
}

TEST(CertificateRejections, that_is_over_is_heard_of_in_time) {
  Distrusted stage({.intercept = "bypassOnPin: true"});
  for (std::size_t i = 1; i <= 2; ++i) {
    stage.reject();
    ASSERT_TRUE(stage.await_count("rejected", i));
  }
  ASSERT_TRUE(stage.is_tunnelled());
  stage.scene.intercept = "";
  ASSERT_TRUE(stage.daemon.reloads(stage.yaml()));
  EXPECT_FALSE(stage.is_tunnelled()) << "no bypass is wanted any more";
  stage.scene.intercept = "bypassOnPin: true";
  ASSERT_TRUE(stage.daemon.reloads(stage.yaml()));
  EXPECT_TRUE(stage.is_tunnelled()) << "the same authority as ever";
  const test::Authority other;
  ASSERT_TRUE(stage.daemon.reloads(stage.yaml(&other)));
  EXPECT_FALSE(stage.is_tunnelled()) << "this certificate it may take";
}

}  // namespace
}  // namespace penstock::trial
