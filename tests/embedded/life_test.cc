// SPDX-License-Identifier: Apache-2.0
// From construction to destruction: starting, saying where, living beside others, leaving nothing behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <filesystem>
#include <iterator>

#include "origin.h"
#include "stage.h"

namespace embedding {
namespace {

using penstock::EventKind;
using penstock::Proxy;
using testing::EndsWith;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::StartsWith;

std::size_t entries(const char* directory) {
  const std::filesystem::directory_iterator all(directory);
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

std::uint16_t port_of(const std::string& url) {
  return static_cast<std::uint16_t>(std::stoi(url.substr(url.rfind(':') + 1)));
}

TEST(Life, says_where_it_listens) {
  Origin origin;
  Proxy proxy(quiet());
  ASSERT_TRUE(proxy.start());
  EXPECT_THAT(proxy.url(), MatchesRegex("http://127\\.0\\.0\\.1:[1-9][0-9]*"));
  EXPECT_NE(proxy.url(), proxy.admin_url());
  EXPECT_THAT(get(proxy.url(), origin.url("/here")), EndsWith("\r\n\r\n" + Origin::echo("GET", "/here")));
  EXPECT_THAT(get(proxy.admin_url(), "/healthz"), AllOf(StartsWith("HTTP/1.1 200 "), EndsWith("\r\n\r\nok\n")));
}

TEST(Life, has_no_admin_port_where_none_is_wanted) {
  Origin origin;
  penstock::Config config = quiet();
  config.admin.listen = {};
  Proxy proxy(config);
  ASSERT_TRUE(proxy.start());
  EXPECT_EQ(proxy.admin_url(), "");
  EXPECT_THAT(get(proxy.url(), origin.url("/here")), EndsWith("\r\n\r\n" + Origin::echo("GET", "/here")));
  EXPECT_TRUE(proxy.reload(proxy.config()));
}

TEST(Life, a_proxy_that_never_started_can_be_destroyed) {
  const std::size_t threads = entries("/proc/self/task");
  {
    Proxy proxy(quiet());
    EXPECT_LE(entries("/proc/self/task"), threads);  // a joined one may still be on its way out
    EXPECT_FALSE(proxy.drain(penstock::Duration(0)));
    EXPECT_TRUE(proxy.snapshot().upstreams.empty());
  }
  EXPECT_LE(entries("/proc/self/task"), threads);  // a joined one may still be on its way out
}

/// On a free port of loopback; nothing where it does not work out.
int listening_socket(std::uint16_t& port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in place{};
  place.sin_family = AF_INET;
  place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof place;
  auto* plain = reinterpret_cast<sockaddr*>(&place);
  EXPECT_TRUE(bind(fd, plain, size) == 0 && listen(fd, 16) == 0 && getsockname(fd, plain, &size) == 0);
  port = ntohs(place.sin_port);
  return fd;
}

TEST(Life, sockets_that_listen_already_are_taken_over_and_closed) {
  Origin origin;
  const std::size_t before = entries("/proc/self/fd");
  std::uint16_t port = 0, admin_port = 0;
  {
    auto config = quiet();
    const int fd = listening_socket(port), admin = listening_socket(admin_port);
    config.proxy.listen.port = port;
    Proxy proxy(config);
    proxy.listen_on(fd, admin);
    ASSERT_TRUE(proxy.start());
    EXPECT_EQ(port_of(proxy.url()), port);
    EXPECT_EQ(port_of(proxy.admin_url()), admin_port) << "any port is right where 0 is configured";
    EXPECT_THAT(get(proxy.url(), origin.url("/here")), EndsWith("\r\n\r\n" + Origin::echo("GET", "/here")));
    EXPECT_TRUE(proxy.drain(std::chrono::seconds(10)));
  }
  {
    Proxy never_started(quiet());
    never_started.listen_on(listening_socket(port));
  }
  EXPECT_TRUE(eventually([&] { return entries("/proc/self/fd") <= before; }));
}

TEST(Life, several_proxies_live_in_one_process_with_settings_of_their_own) {
  Origin origin;
  auto settings_of_a = narrow(1), settings_of_b = narrow(3);
  settings_of_a.proxy.via = "a";
  settings_of_b.proxy.via = "b";
  Observer told_a, told_b;
  Proxy a(settings_of_a), b(settings_of_b);
  told_a.observe(a);
  told_b.observe(b);
  ASSERT_TRUE(a.start());
  ASSERT_TRUE(b.start());

  std::vector<FutureAnswer> from_a, from_b;
  for (int i = 0; i < 3; ++i) {
    from_a.push_back(submit(a, {.url = origin.url("/hold")}));
    from_b.push_back(submit(b, {.url = origin.url("/hold")}));
  }
  ASSERT_TRUE(told_b.wait_for(EventKind::dispatch, 3));
  ASSERT_TRUE(eventually([&] { return origin.requests() == 4; }));
  EXPECT_EQ(a.snapshot().upstreams.front().in_flight, 1u);
  EXPECT_EQ(a.snapshot().upstreams.front().pending, 2u);
  EXPECT_EQ(b.snapshot().upstreams.front().in_flight, 3u);
  origin.let_go();
  for (auto& future : from_a) {
    const auto answer = wait_for(future);
    ASSERT_TRUE(answer && *answer);
    EXPECT_EQ(field(**answer, "Via"), "1.1 a");
  }
  for (auto& future : from_b) {
    const auto answer = wait_for(future);
    ASSERT_TRUE(answer && *answer);
    EXPECT_EQ(field(**answer, "Via"), "1.1 b");
  }
  a.stop();
  EXPECT_THAT(get(b.url(), origin.url("/")), StartsWith("HTTP/1.1 200 "));
  EXPECT_EQ(told_a.count(EventKind::complete), 3u);
  EXPECT_EQ(told_b.count(EventKind::complete), 4u);
}

TEST(Life, a_taken_port_is_told_of) {
  Proxy first(quiet());
  ASSERT_TRUE(first.start());
  for (const bool admin : {false, true}) {
    const std::uint16_t taken = port_of(admin ? first.admin_url() : first.url());
    auto settings = quiet();
    (admin ? settings.admin.listen : settings.proxy.listen).port = taken;
    Proxy second(settings);
    const auto started = second.start();
    ASSERT_FALSE(started);
    EXPECT_EQ(started.error().message,
              "cannot listen on 127.0.0.1:" + std::to_string(taken) + ": address already in use");
    EXPECT_EQ(second.url(), "");
    auto answer = submit(second, {.url = "http://127.0.0.1/"});
    EXPECT_FALSE(wait_for(answer).value());
  }
}

TEST(Life, settings_that_cannot_be_are_told_of_before_anything_is_bound) {
  const std::size_t threads = entries("/proc/self/task"), descriptors = entries("/proc/self/fd");
  auto settings = quiet();
  settings.unmatched.max_concurrent = 0;
  settings.proxy.via = "two words";
  Proxy proxy(settings);
  const auto started = proxy.start();
  ASSERT_FALSE(started);
  EXPECT_THAT(started.error().message, HasSubstr("via in proxy"));
  EXPECT_THAT(started.error().message, HasSubstr("maxConcurrent in upstreams.* is 0"));
  EXPECT_LE(entries("/proc/self/task"), threads);  // a joined one may still be on its way out
  EXPECT_EQ(entries("/proc/self/fd"), descriptors);
}

TEST(Life, an_event_file_that_cannot_be_opened_is_told_of) {
  auto settings = quiet();
  settings.log.events = "/nowhere/at/all";
  Proxy proxy(settings);
  const auto started = proxy.start();
  ASSERT_FALSE(started);
  EXPECT_THAT(started.error().message, HasSubstr("/nowhere/at/all: No such file or directory"));
}

TEST(Life, nobody_starts_twice) {
  Proxy proxy(quiet());
  ASSERT_TRUE(proxy.start());
  const std::string url = proxy.url();
  const auto again = proxy.start();
  ASSERT_FALSE(again);
  EXPECT_THAT(again.error().message, HasSubstr("once"));
  EXPECT_EQ(proxy.url(), url);
  EXPECT_THAT(get(proxy.admin_url(), "/readyz"), StartsWith("HTTP/1.1 200 "));
  proxy.stop();
  EXPECT_FALSE(proxy.start());
}

TEST(Life, two_hundred_lives_leave_no_descriptor_and_no_thread_behind) {
  Origin origin;
  const std::size_t at_rest = entries("/proc/self/task");  // those of the tests, and of a sanitizer, by cores and build
  const auto live_once = [&origin](int n) {
    Proxy proxy(quiet());
    ASSERT_TRUE(proxy.start());
    auto answer = submit(proxy, {.url = origin.url("/in/" + std::to_string(n))});
    ASSERT_THAT(get(proxy.url(), origin.url("/out")), EndsWith(Origin::echo("GET", "/out")));
    ASSERT_THAT(get(proxy.admin_url(), "/metrics"), StartsWith("HTTP/1.1 200 "));
    ASSERT_EQ(wait_for(answer).value()->status, 200);
    const bool ends_by_itself = n % 2 == 0;
    ASSERT_TRUE(ends_by_itself || proxy.drain(kPatience));
  };
  live_once(0);  // what the libraries open once for all
  // The origin's threads come and go with the connections to it; it keeps the threads, without their kernel's side.
  ASSERT_TRUE(eventually([&] { return entries("/proc/self/task") <= at_rest; }));
  const std::size_t threads = entries("/proc/self/task"), descriptors = entries("/proc/self/fd");
  for (int n = 1; n <= 200; ++n) {
    ASSERT_NO_FATAL_FAILURE(live_once(n));
  }
  EXPECT_TRUE(eventually([&] { return entries("/proc/self/fd") <= descriptors; })) << entries("/proc/self/fd");
  EXPECT_TRUE(eventually([&] { return entries("/proc/self/task") <= threads; })) << entries("/proc/self/task");
}

}  // namespace
}  // namespace embedding
