// SPDX-License-Identifier: Apache-2.0
// Who shares connections with whom.
#include "proxy/exchange/upstream_pools.h"

#include <gtest/gtest.h>

#include "support/dial_guards.h"
#include "support/test_loop.h"

namespace penstock::proxy {
namespace {

http::Fields fields(std::string_view name, const std::vector<std::string_view>& values) {
  http::Fields made;
  for (const auto value : values) made.add(name, value);
  return made;
}

TEST(LogIn, of_a_connection_is_seen_in_a_request) {
  for (const auto* value : {"NTLM TlRMTVNTUAAB", "ntlm", "Negotiate YII=", "NEGOTIATE\tYII="}) {
    EXPECT_TRUE(logs_in_connection(fields("authorization", {value}))) << value;
  }
  for (const auto* value : {"Basic TlRMTQ==", "Bearer x", "", "NTLMv2 x", "Digest username=NTLM"}) {
    EXPECT_FALSE(logs_in_connection(fields("Authorization", {value}))) << value;
  }
  EXPECT_FALSE(logs_in_connection(fields("X-Authorization", {"NTLM x"})));
}

TEST(LogIn, is_seen_in_an_answer_wherever_it_stands) {
  EXPECT_TRUE(asks_to_log_in_connection(fields("www-authenticate", {"Negotiate"})));
  EXPECT_TRUE(asks_to_log_in_connection(fields("WWW-Authenticate", {"Basic realm=\"x\",NTLM"})));
  EXPECT_TRUE(asks_to_log_in_connection(fields("WWW-Authenticate", {"Basic realm=\"x\"", "ntlm TlRM"})));
  EXPECT_FALSE(asks_to_log_in_connection(fields("WWW-Authenticate", {"Basic realm=\"x\"", "Bearer"})));
}

TEST(ConnectionPools, are_one_for_each_identity) {
  test::TestLoop run;
  Config config;
  for (const std::string name : {"one", "two", "three"}) {
    auto& upstream = config.upstreams.emplace_back();
    upstream.name = name;
    if (name != "two") upstream.settings.tls.ca = "/some/ca.pem";
  }
  const UpstreamPools connections(run.loop, config, test::kAllAllowed);
  const auto& one = connections.of(config.upstreams[0].settings.tls);
  const auto& two = connections.of(config.upstreams[1].settings.tls);
  EXPECT_NE(&one, &two);
  EXPECT_EQ(&one, &connections.of(config.upstreams[2].settings.tls));
  EXPECT_EQ(&two, &connections.of(config.unmatched.tls));
}

TEST(ConnectionPools, of_one_client_are_made_where_it_claims_them) {
  test::TestLoop run;
  const Config config;
  UpstreamPools connections(run.loop, config, test::kAllAllowed);
  PinnedPools own;
  EXPECT_EQ(own.to("a", {}, connections.of({}), connections), nullptr);
  own.claim("a");
  own.claim("a");
  transfer::Pool* made = own.to("a", {}, connections.of({}), connections);
  EXPECT_NE(made, nullptr);
  EXPECT_NE(made, connections.of({}).get());
  EXPECT_EQ(own.to("a", {}, connections.of({}), connections), made);
  EXPECT_EQ(own.to("b", {}, connections.of({}), connections), nullptr);
  for (int i = 0; i < 100; ++i) own.claim("another " + std::to_string(i));
  EXPECT_NE(own.to("another 14", {}, connections.of({}), connections), nullptr);
  EXPECT_EQ(own.to("another 15", {}, connections.of({}), connections), nullptr)
      << "a client may not have any number of them";
  EXPECT_EQ(own.to("a", {}, connections.of({}), connections), made);
}

// It may be telling of the end of the transfer that is to be started on the next.
TEST(ConnectionPools, of_one_client_stay_until_they_are_swept_out_when_others_take_their_place) {
  test::TestLoop run;
  UpstreamPools connections(run.loop, Config{}, test::kAllAllowed);
  PinnedPools own;
  own.claim("a");
  own.to("a", {}, connections.of({}), connections);
  Config other;
  other.unmatched.tls.ca = "/another/ca.pem";
  connections.change(other);
  connections.sweep();
  const auto& tls = other.unmatched.tls;
  EXPECT_EQ(connections.retired(), 0u) << "that of the others is another one by now";
  own.to("a", tls, connections.of(tls), connections);
  EXPECT_EQ(connections.retired(), 1u);
  connections.sweep();
  EXPECT_EQ(connections.retired(), 0u);
}

}  // namespace
}  // namespace penstock::proxy
