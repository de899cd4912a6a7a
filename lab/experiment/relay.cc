// SPDX-License-Identifier: Apache-2.0
// experiment_relay: a TCP relay on loopback that delays bytes, keeps their order, and can fail in two ways. One thread.
// It stands for a distant or a broken Redis.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "bench/sockets.h"

namespace penstock::experiment {
namespace {

using namespace std::chrono_literals;
using bench::die;
using bench::die_of_errno;
using Clock = std::chrono::steady_clock;

constexpr std::string_view kUsage =
    "usage: experiment_relay TARGET-PORT MICROSECONDS\n"
    "Says `port N` when it listens. Every byte is passed on MICROSECONDS after it came, in either direction.\n"
    "Obeys lines on its standard input, each answered by `done`, and ends with it:\n"
    "  delay MICROSECONDS   from now on\n"
    "  cut                  resets all connections, and each new one at once\n"
    "  hole                 accepts everything and passes nothing on\n"
    "  pass                 as in the beginning; connections that lost bytes in the hole are reset";

constexpr auto kRetry = 1ms;  // while the receiver's buffer is full

/// Bytes that wait to be written. Empty: the end of the stream.
struct Piece {
  Clock::time_point due;
  std::string bytes;
};

/// One connection of a client, and the relay's connection to the target for it.
struct Link {
  std::array<int, 2> fds;
  std::array<std::deque<Piece>, 2> to;  ///< by destination side
  bool lossy = false;                   ///< the hole has swallowed bytes of this connection
};

void reset_on_close(int fd) {
  const linger now{.l_onoff = 1, .l_linger = 0};
  setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
}

void reset(int fd) {
  reset_on_close(fd);
  close(fd);
}

void send_at_once(int fd) {
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

/// -1: nothing listens there.
int dial(std::uint16_t port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) die_of_errno("socket");
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
    fcntl(fd, F_SETFL, O_NONBLOCK);
    return fd;
  }
  close(fd);
  return -1;
}

class Relay {
 public:
  Relay(std::uint16_t target, std::chrono::microseconds delay) : target_(target), delay_(delay) {}

  void run() {
    prctl(PR_SET_TIMERSLACK, 1);  // nanosecond: the default of 50 µs would add to every delay
    bench::watch(epoll_, STDIN_FILENO, STDIN_FILENO);
    bench::watch(epoll_, listener_, static_cast<std::uint64_t>(listener_));
    std::printf("port %d\n", bench::port_of(listener_));
    std::fflush(stdout);
    while (!over_) turn();
  }

 private:
  enum class Mode { pass, cut, hole };
  using LinkPtr = std::shared_ptr<Link>;

  void turn() {
    std::array<epoll_event, 64> events;
    const int ready = wait(events.data(), static_cast<int>(events.size()));
    for (int at = 0; at < ready; ++at) serve(static_cast<int>(events[at].data.u64));
    for (auto next = by_fd_.begin(); next != by_fd_.end();) {
      const auto [fd, link] = *next++;
      if (!write_due(*link, fd == link->fds[1])) next = end_link(*link);
    }
  }

  int wait(epoll_event* events, int room) {
    Clock::time_point due = Clock::time_point::max();
    for (const auto& [fd, link] : by_fd_) {
      const auto& pieces = link->to[fd == link->fds[1]];
      if (!pieces.empty()) due = std::min(due, pieces.front().due);
    }
    const auto left = std::max(Clock::duration(0), due - Clock::now());
    const timespec time{.tv_sec = left / 1s, .tv_nsec = (left % 1s) / 1ns};
    const int ready = epoll_pwait2(epoll_, events, room, due == Clock::time_point::max() ? nullptr : &time, nullptr);
    if (ready < 0 && errno != EINTR) die_of_errno("epoll_pwait2");
    return ready;
  }

  void serve(int fd) {
    if (fd == listener_) return accept_all();
    if (fd == STDIN_FILENO) return obey();
    const auto found = by_fd_.find(fd);
    if (found != by_fd_.end()) receive(found->second, fd);
  }

  void accept_all() {
    for (int client; (client = accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0;) {
      const int server = mode_ == Mode::cut ? -1 : dial(target_);
      server < 0 ? reset(client) : join(client, server);
    }
    if (errno != EAGAIN) die_of_errno("accept");
  }

  void join(int client, int server) {
    const auto link = std::make_shared<Link>(Link{.fds = {client, server}, .to = {}});
    for (const int fd : link->fds) {
      send_at_once(fd);
      by_fd_[fd] = link;
      bench::watch(epoll_, fd, static_cast<std::uint64_t>(fd));
    }
  }

  void receive(const LinkPtr link, int fd) {
    std::array<char, 65536> bytes;
    const ssize_t size = recv(fd, bytes.data(), bytes.size(), 0);
    if (size < 0 && errno == EAGAIN) return;
    if (size < 0) return static_cast<void>(end_link(*link));
    if (size == 0) epoll_ctl(epoll_, EPOLL_CTL_DEL, fd, nullptr);
    if (mode_ == Mode::hole) {
      link->lossy = true;
      return;
    }
    link->to[fd == link->fds[0]].push_back({Clock::now() + delay_, {bytes.data(), static_cast<std::size_t>(size)}});
  }

  /// False: the link has ended.
  bool write_due(Link& link, std::size_t side) {
    std::deque<Piece>& pieces = link.to[side];
    for (const auto now = Clock::now(); !pieces.empty() && pieces.front().due <= now; pieces.pop_front()) {
      std::string& bytes = pieces.front().bytes;
      if (bytes.empty()) return false;
      const ssize_t sent = send(link.fds[side], bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent < 0 && errno != EAGAIN) return false;
      bytes.erase(0, static_cast<std::size_t>(std::max<ssize_t>(sent, 0)));
      if (bytes.empty()) continue;
      pieces.front().due = now + kRetry;
      return true;
    }
    return true;
  }

  /// Returns the next place in `by_fd_`.
  std::map<int, LinkPtr>::iterator end_link(const Link& link) {
    const std::array<int, 2> fds = link.fds;
    for (const int fd : fds) {
      close(fd);
      by_fd_.erase(fd);
    }
    return by_fd_.upper_bound(std::min(fds[0], fds[1]));
  }

  void obey() {
    std::array<char, 256> bytes;
    const ssize_t size = read(STDIN_FILENO, bytes.data(), bytes.size());
    over_ = size <= 0;
    for (std::string_view left(bytes.data(), over_ ? 0 : static_cast<std::size_t>(size)); !left.empty();) {
      const std::size_t end = std::min(left.find('\n'), left.size() - 1);
      obey(std::string(left.substr(0, end)));
      left.remove_prefix(end + 1);
    }
  }

  void obey(const std::string& order) {
    if (order.starts_with("delay ")) {
      delay_ = std::chrono::microseconds(std::atoll(order.c_str() + 6));
    } else if (order == "cut") {
      mode_ = Mode::cut;
      reset_links([](const Link&) { return true; });
    } else if (order == "hole") {
      mode_ = Mode::hole;
    } else if (order == "pass") {
      mode_ = Mode::pass;
      reset_links([](const Link& link) { return link.lossy; });
    } else {
      die("no such order: " + order + "\n" + std::string(kUsage));
    }
    std::puts("done");
    std::fflush(stdout);
  }

  void reset_links(auto chosen) {
    for (auto next = by_fd_.begin(); next != by_fd_.end();) {
      const LinkPtr link = (next++)->second;
      if (!chosen(*link)) continue;
      for (const int fd : link->fds) reset_on_close(fd);
      next = end_link(*link);
    }
  }

  const std::uint16_t target_;
  std::chrono::microseconds delay_;
  Mode mode_ = Mode::pass;
  const int epoll_ = bench::new_epoll();
  const int listener_ = bench::listen_on_loopback();
  std::map<int, LinkPtr> by_fd_;  ///< has both descriptors of each link
  bool over_ = false;
};

}  // namespace
}  // namespace penstock::experiment

int main(int count, char** words) {
  using namespace penstock;
  if (count != 3) bench::die(std::string(experiment::kUsage));
  const auto target = static_cast<std::uint16_t>(std::atoi(words[1]));
  experiment::Relay(target, std::chrono::microseconds(std::atoll(words[2]))).run();
}
