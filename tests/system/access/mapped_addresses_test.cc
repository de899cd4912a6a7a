// SPDX-License-Identifier: Apache-2.0
// IPv4 addresses as IPv6 spells them (RFC 4291 2.5.5.2): the same host, so the same upstream, limits and interception.
#include <gmock/gmock.h>

#include "system/intercepted.h"

namespace penstock::trial {
namespace {

const char* const kForms[] = {"[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::FFFF:7F00:0001]",
                              "[0:0:0:0:0:ffff:127.0.0.1]", "[0000:0000:0000:0000:0000:FFFF:7f00:0001]"};

/// One request by the plain address flies, and all those by other spellings wait for its slot.
void expect_one_queue(const std::string& yaml, const std::string& upstream, Origin& origin) {
  Daemon daemon({.yaml = yaml});
  const std::string port = ":" + std::to_string(origin.port());
  origin.otherwise([](Visit& visit) {
    visit.hold();
    visit.answer(200, visit.request().fields.find("host").value_or("none"));
  });
  Client plain(daemon.port());
  plain.send(get(origin.url("/plain")));
  ASSERT_TRUE(origin.await(1));
  std::vector<std::unique_ptr<Client>> mapped;
  for (const std::string form : kForms) {
    mapped.push_back(std::make_unique<Client>(daemon.port()));
    mapped.back()->send("GET http://" + form + port + "/ HTTP/1.1\r\nHost: " + form + port + "\r\n\r\n");
  }
  EXPECT_TRUE(daemon.await_pending(upstream, std::size(kForms)));
  origin.release(1 + std::size(kForms));
  EXPECT_EQ(plain.reply().status, 200);
  for (const auto& client : mapped) EXPECT_EQ(client->reply().body, origin.host()) << "Host is made of what is dialled";
  EXPECT_EQ(origin.most_at_once(), 1u);
  EXPECT_EQ(origin.complaint(), "");
}

TEST(MappedAddress, shares_the_queue_of_its_ipv4_address_where_no_entry_names_it) {
  Origin origin;
  expect_one_queue("upstreams: { \"*\": { maxConcurrent: 1 } }\n", origin.host(), origin);
}

TEST(MappedAddress, is_held_to_the_limits_of_its_ipv4_address_by_tunnels_too) {
  Origin origin;
  const std::string port = std::to_string(origin.port());
  Daemon daemon({.yaml = "access: { connectPorts: [" + port + "], plainPorts: [] }\nupstreams: { here: { match: '" +
                         origin.host() + "', maxConcurrent: 1, queue: { maxPending: 0 } } }\n"});
  Client first(daemon.port());
  first.send("CONNECT " + origin.host() + " HTTP/1.1\r\n\r\n");
  EXPECT_EQ(first.head().status, 200);
  for (const std::string form : kForms) {
    EXPECT_EQ(daemon.ask("CONNECT " + form + ":" + port + " HTTP/1.1\r\n\r\n").status, 503) << form;
  }
}

TEST(MappedAddress, is_intercepted_where_its_ipv4_address_is) {
  Intercepted stage({.match = "[127.0.0.1]"});
  for (const char* form : kForms) {
    SCOPED_TRACE(form);
    const auto client = stage.connect(stage.trusting("127.0.0.1"), form);
    EXPECT_TRUE(client->shake()) << client->tls.words();
    EXPECT_EQ(client->tls.subject(), "IP Address:127.0.0.1");
  }
  EXPECT_EQ(stage.origin.connections(), 0u);
}

}  // namespace
}  // namespace penstock::trial
