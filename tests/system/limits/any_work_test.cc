// SPDX-License-Identifier: Apache-2.0
// Permits for any work: held as long as its connection is open, however that ends.
#include <gmock/gmock.h>
#include <signal.h>

#include <algorithm>
#include <cstdio>
#include <deque>
#include <fstream>

#include "system/stage.h"

namespace penstock::trial {
namespace {

using testing::HasSubstr;

/// Keys of a file: an upstream of permits with these settings.
std::string db(std::string_view settings = "maxConcurrent: 1") {
  return "upstreams: { db: { permits: true, " + std::string(settings) + " } }\n";
}

std::string ask_for(std::string_view target, std::string_view lines = "", std::string_view method = "GET") {
  return std::string(method) + " " + std::string(target) + " HTTP/1.1\r\nHost: 127.0.0.1\r\n" + std::string(lines) +
         "\r\n";
}

/// Asks for a permit on a connection of its own, and does not wait for it.
struct Holder : Client {
  explicit Holder(const Daemon& daemon, std::string_view lines = "") : Client(daemon.port()) {
    send(ask_for("/@db", lines));
  }
  /// What its head says; empty: it was not granted.
  std::string permit() {
    const Reply reply = head();
    return reply.status == 200 ? reply.field("Penstock-Permit") : "";
  }
};

Given settings_of(std::string yaml, std::string grace = "250ms") {
  return {.yaml = std::move(yaml), .grace = std::move(grace)};
}

TEST(AnyWork, holds_its_permit_until_its_connection_is_closed) {
  const Daemon daemon(settings_of(db()));
  Holder first(daemon);
  const std::string id = first.permit();
  EXPECT_NE(id, "");
  Holder second(daemon);
  ASSERT_TRUE(daemon.await_pending("db", 1));
  first.close();
  EXPECT_NE(second.permit(), "");
  const Json end = daemon.await_event("complete");
  EXPECT_EQ(end["id"], id);
  EXPECT_EQ(end["permit"], true);
  EXPECT_EQ(end["status"], 200);
  EXPECT_EQ(end["upstream"], "db");
  EXPECT_EQ(end["host"], "");
  EXPECT_EQ(end["path"], "/@db");
  EXPECT_EQ(daemon.metric("penstock_requests_total", "upstream=\"db\""), 1);
}

TEST(AnyWork, ends_with_its_connection_whichever_way_that_ends) {
  const Daemon daemon(settings_of(db()));
  for (const auto end : {&Client::close, &Client::reset, &Client::half_close}) {
    Holder holder(daemon);
    ASSERT_NE(holder.permit(), "");
    (holder.*end)();
    if (end == &Client::reset) holder.close();
    ASSERT_TRUE(daemon.await_in_flight("db", 0));
  }
  EXPECT_EQ(daemon.await_events(3, "complete").size(), 3u);
}

TEST(AnyWork, that_leaves_before_its_turn_leaves_the_queue) {
  const Daemon daemon(settings_of(db()));
  Holder first(daemon);
  ASSERT_NE(first.permit(), "");
  Holder second(daemon);
  ASSERT_TRUE(daemon.await_pending("db", 1));
  Holder third(daemon);
  ASSERT_TRUE(daemon.await_pending("db", 2));
  second.close();
  ASSERT_TRUE(daemon.await_pending("db", 1));
  first.close();
  EXPECT_NE(third.permit(), "");
  EXPECT_EQ(daemon.await_event("gone")["permit"], true);
}

// Far more than is read ahead, so that nothing more is read of it.
TEST(AnyWork, keeps_its_permit_whatever_its_client_sends_meanwhile) {
  const Daemon daemon(settings_of(db()));
  for (const std::string& bytes :
       {ask_for("/@db"), std::string("\0\r\nno request at all\r\n\r\n", 24), std::string(64 * 1024, 'x')}) {
    Holder holder(daemon);
    ASSERT_NE(holder.permit(), "");
    ASSERT_TRUE(holder.send(bytes));
    Holder next(daemon);
    ASSERT_TRUE(daemon.await_pending("db", 1));
    EXPECT_EQ(daemon.status("db")["inFlight"], 1);
    holder.close();
    EXPECT_NE(next.permit(), "");
    next.close();
    ASSERT_TRUE(daemon.await_in_flight("db", 0));
  }
  EXPECT_EQ(daemon.await_events(6, "complete").size(), 6u) << "what was sent behind asks for nothing";
}

TEST(AnyWork, that_holds_nothing_is_answered_whole_on_one_connection) {
  const Daemon daemon(settings_of(db("rate: 1000/s")));
  Client client(daemon.port());
  std::string last;
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(client.send(ask_for("/@db?hold=no")));
    const Reply reply = client.reply();
    EXPECT_EQ(reply.status, 200);
    EXPECT_TRUE(reply.whole);
    EXPECT_EQ(reply.body, reply.field("Penstock-Permit") + "\n");
    EXPECT_NE(reply.body, last);
    last = reply.body;
  }
  EXPECT_EQ(daemon.await_events(3, "complete").size(), 3u);
}

TEST(AnyWork, is_not_for_other_methods) {
  const Daemon daemon(settings_of(db()));
  for (const std::string method : {"POST", "PUT", "DELETE", "OPTIONS"}) {
    const Reply reply = daemon.ask(ask_for("/@db", "", method));
    expect_own_answer(reply, {405}, "http_request_denied");
    EXPECT_EQ(reply.field("Allow"), "GET");
  }
  Client client(daemon.port());
  client.send(ask_for("/@db", "", "HEAD"));
  EXPECT_EQ(client.reply(true).status, 405);
  EXPECT_EQ(daemon.metric("penstock_refusals_total", "kind=\"permit_method\""), 5);
}

TEST(AnyWork, is_told_what_else_is_wrong) {
  const Daemon daemon(settings_of(db()));
  const Reply unknown = daemon.ask(ask_for("/@dbs"));
  expect_own_answer(unknown, {404}, "destination_not_found");
  EXPECT_THAT(unknown.reason, HasSubstr("those that have one: /@db"));
  expect_own_answer(daemon.ask(ask_for("/@db/table")), {400});
  expect_own_answer(daemon.ask(ask_for("/@db", "Content-Length: 3\r\n") + "abc"), {400});
  expect_own_answer(daemon.ask(ask_for("/@db", "Sec-Fetch-Site: cross-site\r\n")), {403}, "http_request_denied");
  expect_own_answer(daemon.ask(ask_for("/@db", "Origin: https://evil.example\r\n")), {403}, "http_request_denied");
}

TEST(AnyWork, is_refused_and_told_when_to_come_again) {
  const Daemon daemon(settings_of(db("maxConcurrent: 1, queue: { maxPending: 0 }")));
  Holder first(daemon);
  ASSERT_NE(first.permit(), "");
  const Reply full = daemon.ask(ask_for("/@db"));
  expect_own_answer(full, {503}, "connection_limit_reached");
  EXPECT_TRUE(full.fields.has("retry-after"));
  EXPECT_EQ(daemon.await_event("refused")["permit"], true);
}

TEST(AnyWork, is_asked_for_by_a_user_where_there_are_users) {
  const std::string folder = new_folder(), file = folder + "/users";
  std::ofstream(file) << "ann:$2y$04$abcdefghijklmnopqrstuu/LVz6MZlItEy42I2juLihZ66HnQx/cy\n";
  {
    const Daemon daemon(settings_of("access: { users: " + file + " }\n" + db()));
    EXPECT_EQ(daemon.ask(ask_for("/@db")).status, 407);
    Holder ann(daemon, "Proxy-Authorization: Basic YW5uOm9wZW4gc2VzYW1l\r\n");
    EXPECT_NE(ann.permit(), "");
    EXPECT_EQ(daemon.await_event("dispatch")["user"], "ann");
  }
  std::remove(file.c_str());
  std::remove(folder.c_str());
}

TEST(AnyWork, speaks_http_1_0_as_well) {
  const Daemon daemon(settings_of(db()));
  Client client(daemon.port());
  client.send("GET /@db HTTP/1.0\r\n\r\n");
  const Reply reply = client.head();
  EXPECT_EQ(reply.status, 200);
  EXPECT_FALSE(reply.fields.has("transfer-encoding"));
  client.close();
  EXPECT_TRUE(daemon.await_in_flight("db", 0));
}

TEST(AnyWork, under_way_at_a_drain_has_the_grace_to_end) {
  Daemon daemon(settings_of(db(), "20s"));
  Holder holder(daemon);
  ASSERT_NE(holder.permit(), "");
  daemon.signal(SIGTERM);
  ASSERT_TRUE(eventually([&] { return daemon.admin("/readyz").status == 503; }));
  EXPECT_EQ(daemon.status("db")["inFlight"], 1);
  holder.close();
  EXPECT_EQ(daemon.exit_code(), 0);
  EXPECT_EQ(daemon.await_event("complete")["status"], 200);
}

TEST(AnyWork, that_goes_on_beyond_the_grace_loses_its_connection) {
  Daemon daemon(settings_of(db(), "100ms"));
  Holder holder(daemon), waiting(daemon);
  ASSERT_NE(holder.permit(), "");
  ASSERT_TRUE(daemon.await_pending("db", 1));
  daemon.signal(SIGTERM);
  holder.rest();
  EXPECT_TRUE(holder.socket().ended());
  EXPECT_EQ(waiting.reply().status, 503);
  EXPECT_EQ(daemon.exit_code(), 0);
  EXPECT_THAT(daemon.diagnostics(), HasSubstr("not everything was finished within proxy.grace"));
  const Json end = daemon.await_event("error");
  EXPECT_EQ(end["permit"], true);
  EXPECT_THAT(end["detail"].get<std::string>(), HasSubstr("shutting down"));
}

TEST(AnyWork, outlives_its_upstream_in_a_reload) {
  const Daemon daemon(settings_of(db()));
  Holder holder(daemon);
  ASSERT_NE(holder.permit(), "");
  ASSERT_TRUE(daemon.reloads("upstreams: { other: { permits: true } }\n"));
  EXPECT_EQ(daemon.ask(ask_for("/@db")).status, 404);
  ASSERT_TRUE(daemon.reloads(db())) << "the same upstream again, with one permit out";
  Holder next(daemon);
  ASSERT_TRUE(daemon.await_pending("db", 1));
  holder.close();
  EXPECT_NE(next.permit(), "");
}

TEST(AnyWork, never_has_more_permits_out_than_there_are_however_many_come) {
  constexpr std::size_t kCapacity = 3, kHolders = 8;
  const Daemon daemon(settings_of(db("maxConcurrent: 50, limits: [ semaphore: { capacity: 3 } ]")));
  std::deque<Holder> holders;
  for (std::size_t i = 0; i < kHolders; ++i) {
    holders.emplace_back(daemon);  // one after the other, so that they wait in this order
    ASSERT_TRUE(daemon.await_in_flight("db", std::min(i + 1, kCapacity)));
    ASSERT_TRUE(daemon.await_pending("db", i < kCapacity ? 0 : i + 1 - kCapacity));
  }
  for (std::size_t ended = 0; ended < kHolders; ++ended) {
    EXPECT_NE(holders[ended].permit(), "");
    const std::size_t left = kHolders - ended;
    const Json now = daemon.status("db");
    EXPECT_EQ(now["inFlight"], std::min(left, kCapacity));
    EXPECT_EQ(now["pending"], left > kCapacity ? left - kCapacity : 0) << "each end makes room for one";
    holders[ended].close();
    ASSERT_TRUE(daemon.await_in_flight("db", std::min(left - 1, kCapacity)));
    ASSERT_TRUE(daemon.await_pending("db", left - 1 > kCapacity ? left - 1 - kCapacity : 0));
  }
}

}  // namespace
}  // namespace penstock::trial
