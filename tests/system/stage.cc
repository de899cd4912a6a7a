// SPDX-License-Identifier: Apache-2.0
// What the system tests have in common.
#include "system/stage.h"

#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "support/bind.h"

namespace penstock::trial {

namespace {

sockaddr_in loopback(std::uint16_t port) {
  return {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}, .sin_zero = {}};
}

}  // namespace

Silent::Silent() : listener(Socket::listen(0, &port)) {
  for (int i = 0; i < 8; ++i) {
    const sockaddr_in there = loopback(port);
    fillers.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    ::connect(fillers.back().fd(), reinterpret_cast<const sockaddr*>(&there), sizeof there);
  }
}

Trap::Trap(std::uint16_t port) : listener(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)) {
  sockaddr_in place = loopback(port);
  place.sin_addr.s_addr = htonl(test::kElsewhere);
  EXPECT_TRUE(test::take_place(listener.fd(), place));
  EXPECT_EQ(::listen(listener.fd(), 16), 0);
}

Trap::~Trap() {
  const Socket visitor(::accept4(listener.fd(), nullptr, nullptr, SOCK_CLOEXEC));
  EXPECT_LT(visitor.fd(), 0) << "somebody was here";
}

Given with_defaults(std::string_view settings) { return {.yaml = "defaults: { " + std::string(settings) + " }\n"}; }

void expect_own_answer(const Reply& reply, std::initializer_list<int> statuses, std::string_view error) {
  EXPECT_THAT(std::vector<int>(statuses), testing::Contains(reply.status));
  EXPECT_TRUE(reply.whole);
  EXPECT_EQ(reply.complaint, "");
  EXPECT_EQ(reply.error(), error);
  EXPECT_TRUE(reply.field("proxy-status").starts_with("penstock; error=")) << reply.head;
  EXPECT_NE(reply.body, "");
  EXPECT_EQ(std::count(reply.body.begin(), reply.body.end(), '\n'), 1) << "a one-line body: " << reply.body;
}

void expect_denied(const Reply& reply, std::string_view why) {
  expect_own_answer(reply, {403}, "destination_ip_prohibited");
  EXPECT_THAT(reply.reason, testing::HasSubstr(why));
}

void expect_refusal(Client& client, std::initializer_list<int> statuses, std::string_view error) {
  const Reply reply = client.reply();
  expect_own_answer(reply, statuses, error);
  EXPECT_TRUE(same_name(reply.field("connection"), "close")) << reply.head;
  EXPECT_EQ(client.rest(), "") << "one answer, and nothing after it";
  EXPECT_TRUE(client.socket().ended()) << "the connection must be closed";
}

namespace {

void expect_health(Stage& stage, std::size_t before) {
  EXPECT_EQ(stage.origin.count(), before);
  EXPECT_EQ(stage.fetch("/a-healthy-request").body, "hello");
  EXPECT_EQ(stage.origin.count(), before + 1) << "only the healthy request";
}

}  // namespace

void expect_refused(Stage& stage, std::string_view bytes, std::initializer_list<int> statuses) {
  SCOPED_TRACE("sent: " + shown(bytes));
  const std::size_t before = stage.origin.count();
  Client client(stage.daemon.port());
  client.send(bytes);
  expect_refusal(client, statuses);
  expect_health(stage, before);
}

namespace {

// When the program begins, so that a test and the daemons that it starts find the same limit whichever tests came
// before.
const std::size_t kOpenFiles = [] {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
  return limit.rlim_cur;
}();

}  // namespace

std::size_t allow_open_files() { return kOpenFiles; }

std::uint64_t settled(const std::atomic<std::uint64_t>& moved) {
  std::uint64_t last = 0;
  EXPECT_TRUE(eventually([&] {
    std::this_thread::sleep_for(200ms);  // the flow has stopped when a while brings nothing new
    return std::exchange(last, moved.load()) == moved.load() && last > 0;
  }));
  return last;
}

std::string shown(std::string_view bytes) {
  std::string out;
  for (const unsigned char c : bytes.substr(0, 160)) {
    if (c >= 0x20 && c < 0x7f) {
      out += static_cast<char>(c);
    } else {
      constexpr char kDigits[] = "0123456789abcdef";
      out += {'\\', 'x', kDigits[c / 16], kDigits[c % 16]};
    }
  }
  return bytes.size() > 160 ? out + "… (" + std::to_string(bytes.size()) + " bytes)" : out;
}

}  // namespace penstock::trial
