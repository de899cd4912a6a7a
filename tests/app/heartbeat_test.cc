// SPDX-License-Identifier: Apache-2.0
// The heartbeat of the daemon, against a loop that stands still: the program itself has none to offer.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <future>

#include "app/systemd.h"

namespace penstock::app {
namespace {

/// Stands for systemd, at an address without a file.
class Listening {
 public:
  Listening() : fd_(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un place{.sun_family = AF_UNIX, .sun_path = {}};
    const std::string name = "penstock-heartbeat-" + std::to_string(getpid());
    name.copy(place.sun_path + 1, sizeof place.sun_path - 1);
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    EXPECT_EQ(bind(fd_, reinterpret_cast<const sockaddr*>(&place), size), 0);
    setenv("NOTIFY_SOCKET", ("@" + name).c_str(), 1);
    setenv("WATCHDOG_USEC", "20000", 1);
  }
  ~Listening() {
    unsetenv("NOTIFY_SOCKET");  // what other tests start would tell us of itself
    unsetenv("WATCHDOG_USEC");
    close(fd_);
  }
  Listening(const Listening&) = delete;
  Listening& operator=(const Listening&) = delete;

  bool hears_within(std::chrono::milliseconds time) const {
    pollfd waiting{fd_, POLLIN, 0};
    if (poll(&waiting, 1, static_cast<int>(time.count())) != 1) return false;
    char bytes[64];
    const ssize_t count = recv(fd_, bytes, sizeof bytes, 0);
    return std::string(bytes, static_cast<std::size_t>(count)) == "WATCHDOG=1";
  }

 private:
  const int fd_;
};

TEST(Heartbeat, stops_while_the_loop_stands_still_and_goes_on_with_it) {
  using namespace std::chrono_literals;
  const Listening systemd;
  Config config;
  config.proxy.listen.port = config.admin.listen.port = 0;
  config.log.events = "off";
  Proxy proxy(config);
  std::promise<void> stands, go_on;
  proxy.observe([&, once = false](const Event&) mutable {
    if (std::exchange(once, true)) return;
    stands.set_value();
    go_on.get_future().wait();
  });
  ASSERT_TRUE(proxy.start());
  const Heartbeat heart(proxy);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(systemd.hears_within(20s));
  proxy.submit({.url = "http://127.0.0.1:1/"}, [](auto) {});
  stands.get_future().wait();
  int more = 0;  // what was on its way
  while (more < 1000 && systemd.hears_within(500ms)) ++more;
  EXPECT_LT(more, 1000);
  EXPECT_FALSE(systemd.hears_within(500ms));
  go_on.set_value();
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(systemd.hears_within(20s));
}

}  // namespace
}  // namespace penstock::app
