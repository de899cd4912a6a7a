// SPDX-License-Identifier: Apache-2.0
// The page and its streams over real sockets: what clients see, how many of them, and what those cost that do not read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <ifaddrs.h>

#include <atomic>
#include <chrono>
#include <future>
#include <nlohmann/json.hpp>
#include <thread>

#include "observe/admin_client.h"
#include "observe/admin_server.h"
#include "observe/live/page.h"

namespace penstock::observe {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::AnyOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr const char* kDetailsAreFor = "clients on the machine that it runs on alone";

class LiveTest : public testing::Test {
 protected:
  LiveTest() { config_.admin.listen.port = 0; }
  template <class Do>
  auto on_loop(Do action) {
    std::promise<decltype(action())> done;
    loop_.post([&] {
      if constexpr (std::is_void_v<decltype(action())>) {
        action(), done.set_value();
      } else {
        done.set_value(action());
      }
    });
    return done.get_future().get();
  }
  ~LiveTest() override {
    if (!thread_.joinable()) return;
    on_loop([this] { server_.reset(); });
    loop_.stop();
    thread_.join();
  }

  void start() {
    auto listening = AdminServer::listen(
        loop_, config_, metrics_, [this](const SnapshotExtent&) { return ++snapshots_, snapshot_; }, [] { return 0u; });
    ASSERT_TRUE(listening) << listening.error().message;
    server_ = std::move(*listening);
    server_->look_by({.snapshot = [this] { return ++snapshots_, snapshot_; },
                      .details = [](std::string_view upstream) -> std::optional<UpstreamDetails> {
                        if (upstream != "api") return std::nullopt;
                        UpstreamDetails details;
                        details.waiting.push_back({.id = "w1", .path = "/secret"});
                        return details;
                      },
                      .explain = [](std::string_view) { return "as it is limited"; }});
    bound_ = server_->bound();
    bound_.address = "127.0.0.1";
    thread_ = std::thread{[this] {
      sigset_t pipe;
      sigemptyset(&pipe), sigaddset(&pipe, SIGPIPE);
      pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
      loop_.run();
    }};
  }

  bool is_watched() {
    return on_loop([this] { return server_->is_watched(); });
  }
  template <class Condition>
  void until(Condition condition) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!condition()) {
      ASSERT_LT(std::chrono::steady_clock::now(), end);
      std::this_thread::yield();
    }
  }

  AdminClient asking(const std::string& target, const std::string& fields = "Host: 127.0.0.1\r\n") {
    AdminClient client{bound_};
    client.send("GET " + target + " HTTP/1.1\r\n" + fields + "\r\n");
    return client;
  }
  std::string got(const std::string& target, const std::string& fields = "Host: 127.0.0.1\r\n") {
    return asking(target, fields).answer();
  }
  AdminClient viewer(const std::string& target) {
    auto client = asking(target);
    EXPECT_THAT(client.until("\r\n\r\n"),
                AllOf(StartsWith("HTTP/1.1 200 "), HasSubstr("\r\nContent-Type: text/event-stream\r\n")));
    return client;
  }
  void tell(std::string_view upstream, EventKind kind, int status, std::string_view path = "/") {
    on_loop([&] {
      if (server_->is_watched()) server_->record({.kind = kind, .upstream = upstream, .path = path, .status = status});
    });
  }

  Config config_;
  Metrics metrics_{config_};
  Snapshot snapshot_ = [] {
    Snapshot snapshot;
    snapshot.upstreams = {{.name = "api", .pending = 1}, {.name = "<b>bold</b>:80"}};
    return snapshot;
  }();
  std::atomic<int> snapshots_ = 0;
  loop::Loop loop_;
  std::unique_ptr<AdminServer> server_;
  Endpoint bound_;
  std::thread thread_;
};

TEST_F(LiveTest, a_browser_gets_the_page_with_a_policy_and_others_get_the_rows_as_text) {
  start();
  const auto page_got = got("/", "Host: 127.0.0.1\r\nAccept: text/html,*/*\r\nSec-Fetch-Site: none\r\n");
  EXPECT_THAT(page_got, StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(page_got, HasSubstr("\r\nContent-Type: text/html; charset=utf-8\r\n"));
  EXPECT_THAT(page_got, HasSubstr("\r\nContent-Security-Policy: " + page_policy() + "\r\n"));
  EXPECT_THAT(page_got, HasSubstr("\r\nX-Content-Type-Options: nosniff\r\n"));
  EXPECT_THAT(page_got, HasSubstr("\r\nReferrer-Policy: no-referrer\r\n"));
  EXPECT_THAT(page_got, HasSubstr("\r\nCross-Origin-Resource-Policy: same-origin\r\n"));
  EXPECT_THAT(page_got, EndsWith(std::string(page())));
  const auto text = got("/");
  EXPECT_THAT(text, HasSubstr("\r\nContent-Type: text/plain; charset=utf-8\r\n"));
  EXPECT_THAT(text, AllOf(HasSubstr("/metrics /healthz /readyz /status /ahead / /live /events"), HasSubstr("\napi ")));
}

TEST_F(LiveTest, admin_page_off_leaves_nothing_of_it) {
  config_.admin.page = false;
  start();
  for (const auto* target : {"/", "/live", "/events"}) {
    EXPECT_THAT(got(target), AllOf(StartsWith("HTTP/1.1 404 "), Not(HasSubstr("/live"))));
  }
}

TEST_F(LiveTest, live_begins_with_all_upstreams_and_then_says_what_has_changed) {
  start();
  auto client = viewer("/live");
  const auto first = json::parse(client.event("snapshot"));
  EXPECT_TRUE(first["full"]);
  EXPECT_TRUE(first["details"]);
  EXPECT_EQ(first["upstreams"].size(), 2u);
  EXPECT_EQ(first["upstreams"][1]["name"], "<b>bold</b>:80");
  EXPECT_EQ(first["listen"], "127.0.0.1:3128");
  on_loop([this] { snapshot_.upstreams[0].pending = 7; });
  tell("api", EventKind::complete, 200);
  const auto second = json::parse(client.event("snapshot"));
  EXPECT_FALSE(second["full"]);
  ASSERT_EQ(second["upstreams"].size(), 1u);
  EXPECT_EQ(second["upstreams"][0]["pending"], 7);
  EXPECT_EQ(json::parse(client.event("events"))["lines"][0]["upstream"], "api");
}

TEST_F(LiveTest, a_second_viewer_gets_all_although_the_first_one_had_it) {
  start();
  auto first = viewer("/live");
  EXPECT_TRUE(json::parse(first.event("snapshot"))["full"]);
  auto second = viewer("/live");
  EXPECT_TRUE(json::parse(second.event("snapshot"))["full"]);
  EXPECT_FALSE(json::parse(first.event("snapshot"))["full"]);
}

TEST_F(LiveTest, details_of_one_upstream_come_with_each_snapshot) {
  start();
  auto client = viewer("/live?upstream=api");
  const auto details = json::parse(client.event("details"));
  EXPECT_EQ(details["upstream"], "api");
  EXPECT_EQ(details["waiting"][0]["path"], "/secret");
  EXPECT_EQ(details["explain"], "as it is limited");
  EXPECT_EQ(json::parse(viewer("/live?upstream=other").event("details"))["gone"], true);
}

TEST_F(LiveTest, nothing_is_computed_while_nobody_looks) {
  start();
  EXPECT_FALSE(is_watched());
  {
    auto client = viewer("/live");
    client.event("snapshot");
    EXPECT_TRUE(is_watched());
  }
  until([this] { return !is_watched(); });
  const int before = snapshots_;
  std::promise<void> later;
  loop::Timer timer{loop_, [&] { later.set_value(); }};
  on_loop([&] { timer.start(loop_.now() + 2'200'000); });  // two snapshots' time
  later.get_future().wait();
  EXPECT_EQ(snapshots_, before);
}

TEST_F(LiveTest, eight_may_look_beside_the_64_connections_and_the_ninth_is_told) {
  start();
  std::vector<AdminClient> others;
  for (int i = 0; i < 64; ++i) {
    others.push_back(asking("/healthz"));
    EXPECT_THAT(others.back().answer(), EndsWith("ok\n"));
  }
  std::vector<AdminClient> viewers;
  for (int i = 0; i < 8; ++i) viewers.push_back(viewer(i % 2 == 0 ? "/live" : "/events"));
  EXPECT_THAT(got("/live"), AllOf(StartsWith("HTTP/1.1 503 "), HasSubstr("no place for a ninth")));
  EXPECT_THAT(got("/events"), StartsWith("HTTP/1.1 503 "));
  EXPECT_THAT(got("/metrics"), HasSubstr("penstock_build_info"));
  EXPECT_NE(viewers.front().event("snapshot"), "");
  viewers.pop_back();
  until([this] { return got("/live", "Host: 127.0.0.1\r\nConnection: close\r\n").starts_with("HTTP/1.1 200 "); });
}

TEST_F(LiveTest, other_origins_are_refused_and_the_page_itself_is_not) {
  start();
  const std::string own = "Host: " + to_string(bound_) + "\r\n";
  for (const auto* target : {"/", "/live", "/events"}) {
    EXPECT_THAT(got(target, own + "Origin: http://evil.example\r\n"), StartsWith("HTTP/1.1 403 ")) << target;
    EXPECT_THAT(got(target, own + "Sec-Fetch-Site: cross-site\r\n"), StartsWith("HTTP/1.1 403 ")) << target;
    EXPECT_THAT(got(target, "Host: evil.example\r\n"), StartsWith("HTTP/1.1 403 ")) << target;
  }
  auto client =
      asking("/live", own + "Sec-Fetch-Site: same-origin\r\nSec-Fetch-Mode: cors\r\nSec-Fetch-Dest: empty\r\n");
  EXPECT_NE(client.event("snapshot"), "");
}

TEST_F(LiveTest, details_may_be_for_nobody) {
  config_.admin.details = AdminDetails::off;
  start();
  EXPECT_THAT(got("/events"),
              AllOf(StartsWith("HTTP/1.1 403 "), HasSubstr("shown to nobody here (admin.details: off)")));
  auto client = viewer("/live?upstream=api");
  const auto first = json::parse(client.event("snapshot"));
  EXPECT_FALSE(first["details"]);
  EXPECT_THAT(first["detailsWhy"], HasSubstr("admin.details: off"));
  tell("api", EventKind::complete, 200, "/secret");
  client.event("snapshot");
  EXPECT_THAT(client.until("event: snapshot"), Not(AnyOf(HasSubstr("details\ndata"), HasSubstr("secret"))));
}

TEST_F(LiveTest, on_a_public_port_a_page_that_passes_for_this_machine_sees_no_details) {
  config_.admin.listen.address = "0.0.0.0";
  start();
  EXPECT_THAT(got("/events", "Host: evil.example\r\n"), AllOf(StartsWith("HTTP/1.1 403 "), HasSubstr(kDetailsAreFor)));
  auto client = asking("/live", "Host: evil.example\r\n");
  EXPECT_FALSE(json::parse(client.event("snapshot"))["details"]);
  EXPECT_NE(viewer("/live").event("snapshot"), "");
}

/// An address of this machine that is not of loopback; empty: it has none.
std::string outer_address() {
  ifaddrs* all = nullptr;
  std::string found;
  if (::getifaddrs(&all) != 0) return found;
  for (const auto* one = all; one; one = one->ifa_next) {
    if (!one->ifa_addr || one->ifa_addr->sa_family != AF_INET) continue;
    char text[INET_ADDRSTRLEN];
    ::inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(one->ifa_addr)->sin_addr, text, sizeof text);
    if (!std::string_view(text).starts_with("127.")) found = text;
  }
  ::freeifaddrs(all);
  return found;
}

TEST_F(LiveTest, on_a_public_port_clients_from_elsewhere_see_numbers_unless_details_are_for_all) {
  const auto outer = outer_address();
  if (outer.empty()) GTEST_SKIP() << "this machine has no address but loopback's";
  config_.admin.listen.address = "0.0.0.0";
  start();
  bound_.address = outer;
  EXPECT_THAT(got("/events"), AllOf(StartsWith("HTTP/1.1 403 "), HasSubstr(kDetailsAreFor)));
  EXPECT_FALSE(json::parse(viewer("/live").event("snapshot"))["details"]);
  EXPECT_THAT(got("/status"), HasSubstr(kDetailsAreFor));
  config_.admin.details = AdminDetails::all;
  on_loop([this] { server_->change(config_); });
  EXPECT_TRUE(json::parse(viewer("/live").event("snapshot"))["details"]);
  EXPECT_NE(viewer("/events").until("\n\n"), "");
}

TEST_F(LiveTest, events_are_all_there_and_chosen_by_upstream_and_kind) {
  start();
  auto all = viewer("/events");
  auto chosen = viewer("/events?upstream=a%3A80&event=refused");
  tell("b:80", EventKind::refused, 429);
  tell("a:80", EventKind::complete, 200);
  tell("a:80", EventKind::refused, 503);
  EXPECT_EQ(all.until("\n\n"), "retry: 2000\n\n");
  for (const int status : {429, 200, 503}) {
    EXPECT_EQ(json::parse(all.until("\n\n").substr(6))["status"], status);
  }
  EXPECT_EQ(chosen.until("\n\n"), "retry: 2000\n\n");
  EXPECT_EQ(json::parse(chosen.until("\n\n").substr(6))["status"], 503);
}

TEST_F(LiveTest, a_reader_of_events_that_stalls_loses_lines_and_is_told_how_many) {
  start();
  auto slow = viewer("/events");
  slow.until("\n\n");
  const std::string path(4000, 'x');
  std::size_t told = 0, most = 0;
  for (; told < 20'000; told += 100) {  // more than the kernel takes
    on_loop([&] {
      for (int i = 0; i < 100; ++i) server_->record({.kind = EventKind::complete, .path = path, .status = 200});
    });
    most = std::max(most, on_loop([this] { return server_->held_by_viewers(); }));
  }
  EXPECT_LE(most, Viewer::kMostHeld);
  std::size_t read = 0, dropped = 0;
  while (read + dropped < told) {
    const auto event = slow.until("\n\n");
    ASSERT_NE(event, "");
    if (event.starts_with("data: ")) ++read;
    if (event.starts_with("event: dropped"))
      dropped += json::parse(event.substr(event.find("data: ") + 6))["dropped"].get<std::size_t>();
  }
  EXPECT_EQ(read + dropped, told);
  EXPECT_GT(dropped, 0u);
  tell("a", EventKind::complete, 201);
  EXPECT_EQ(json::parse(slow.until("\n\n").substr(6))["status"], 201);
}

TEST_F(LiveTest, a_viewer_that_stalls_holds_little_and_is_cut) {
  for (int i = 0; i < 300; ++i) snapshot_.upstreams.push_back({.name = std::to_string(i) + std::string(300, 'x')});
  start();
  std::vector<AdminClient> stalled;
  for (int i = 0; i < 4; ++i) stalled.push_back(viewer("/live"));
  auto reader = viewer("/live");
  std::size_t most = 0;
  for (std::uint64_t i = 0; on_loop([this] { return server_->viewers(); }) > 1; ++i) {
    ASSERT_LT(i, 60u);
    on_loop([&] {
      for (auto& one : snapshot_.upstreams) ++one.pending;
    });
    ASSERT_NE(reader.event("snapshot"), "");
    most = std::max(most, on_loop([this] { return server_->held_by_viewers(); }));
  }
  EXPECT_GT(most, 0u);
  EXPECT_LE(most, 4 * Viewer::kMostHeld);
  EXPECT_THAT(got("/healthz"), EndsWith("ok\n"));
}

}  // namespace
}  // namespace penstock::observe
