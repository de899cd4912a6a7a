// SPDX-License-Identifier: Apache-2.0
// bench_slow: clients that are slow on purpose, and the origin that they ask, one thread. Some say a head, some a body,
// a byte a second each; some ask for endless answers and read nothing. Whom the proxy lets go comes back at once. They
// come from 127.0.0.2 to 127.0.0.5. Says `ready` when all are there, and stays until its input ends.
#include <netinet/in.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "bench/sockets.h"

namespace penstock::bench {
namespace {

constexpr std::string_view kUsage = "usage: bench_slow PROXY-PORT HEADS BODIES READERS\nAll on 127.0.0.1.";
constexpr std::size_t kTurnsASecond = 1000;  // they know nothing of each other, and speak in no chorus
constexpr int kSmallBuffer = 16 * 1024;

std::int64_t now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

enum class Kind : std::uint8_t { nothing, head, body, reader, endless_origin, patient_origin, new_origin };

class Slow {
 public:
  explicit Slow(std::uint16_t proxy_port) : proxy_port_(proxy_port) {
    watch(epoll_, listener_, static_cast<std::uint64_t>(listener_));
    watch(epoll_, STDIN_FILENO, STDIN_FILENO);
  }

  void add(Kind kind) {
    const int fd = connected();
    const std::string origin = "127.0.0.1:" + std::to_string(port_of(listener_));
    const std::string url = "http://" + origin + "/slow HTTP/1.1\r\nHost: " + origin + "\r\n";
    if (kind == Kind::head) send_whole(fd, "GET " + url + "X: ");
    if (kind == Kind::body) send_whole(fd, "POST " + url + "Content-Length: 1000000000\r\n\r\n");
    if (kind == Kind::reader) send_whole(fd, "GET " + url + "\r\n");
    keep(fd, kind, kind == Kind::reader ? 0u : static_cast<unsigned>(EPOLLIN));
  }

  /// Until the input ends.
  void live() {
    while (!over_) turn();
    std::printf("{\"let_go\": %zu, \"bytes\": %zu}\n", let_go_, bytes_);
  }

 private:
  int connected() {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int size = kSmallBuffer;
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
    sockaddr_in here{}, there{};
    here.sin_family = there.sin_family = AF_INET;
    here.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1 + static_cast<std::uint32_t>(opened_++ % 4));
    there.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    there.sin_port = htons(proxy_port_);
    if (bind(fd, reinterpret_cast<const sockaddr*>(&here), sizeof here) != 0) die_of_errno("bind");
    if (connect(fd, reinterpret_cast<const sockaddr*>(&there), sizeof there) != 0) die_of_errno("connect");
    set_no_delay(fd);
    return fd;
  }

  void keep(int fd, Kind kind, unsigned events) {
    if (kinds_.size() <= static_cast<std::size_t>(fd)) kinds_.resize(static_cast<std::size_t>(fd) + 1, Kind::nothing);
    kinds_[static_cast<std::size_t>(fd)] = kind;
    epoll_event wanted{};
    wanted.events = events;
    wanted.data.u64 = static_cast<std::uint64_t>(fd);
    if (epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &wanted) != 0) die_of_errno("epoll_ctl");
  }

  void turn() {
    std::array<epoll_event, 256> events;
    const int ready = epoll_wait(epoll_, events.data(), events.size(), 1000 / kTurnsASecond);
    if (ready < 0 && errno != EINTR) die_of_errno("epoll_wait");
    for (int at = 0; at < ready; ++at) serve(events[static_cast<std::size_t>(at)]);
    if (now_ms() < next_bytes_) return;
    next_bytes_ = now_ms() + 1000 / static_cast<std::int64_t>(kTurnsASecond);
    say_bytes();
  }

  /// A byte each to a part of the clients, so that each has said one in a second.
  void say_bytes() {
    part_ = (part_ + 1) % kTurnsASecond;
    for (std::size_t fd = part_; fd < kinds_.size(); fd += kTurnsASecond) {
      if (kinds_[fd] != Kind::head && kinds_[fd] != Kind::body) continue;
      if (send(static_cast<int>(fd), "x", 1, MSG_NOSIGNAL | MSG_DONTWAIT) == 1) {
        ++bytes_;
      } else {
        let_go(static_cast<int>(fd));
      }
    }
  }

  void serve(const epoll_event& event) {
    const int fd = static_cast<int>(event.data.u64);
    if (fd == STDIN_FILENO) return hear_input();
    if (fd == listener_) return accept_all();
    switch (kinds_[event.data.u64]) {
      case Kind::nothing: return;
      case Kind::new_origin: return begin_answer(fd);
      case Kind::endless_origin: return go_on_answering(fd);
      case Kind::patient_origin: return swallow(fd);
      case Kind::head:
      case Kind::body:
      case Kind::reader: return let_go(fd);  // with an answer, or without
    }
  }

  void hear_input() {
    char byte;
    over_ = read(STDIN_FILENO, &byte, 1) <= 0;
  }

  void let_go(int fd) {
    const Kind kind = kinds_[static_cast<std::size_t>(fd)];
    drop(fd);
    ++let_go_;
    add(kind);
  }

  void drop(int fd) {
    kinds_[static_cast<std::size_t>(fd)] = Kind::nothing;
    close(fd);
  }

  void accept_all() {
    for (int fd; (fd = accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0;) {
      setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &kSmallBuffer, sizeof kSmallBuffer);
      keep(fd, Kind::new_origin, EPOLLIN);
    }
    if (errno != EAGAIN) die_of_errno("accept");
  }

  void begin_answer(int fd) {
    const ssize_t size = recv(fd, bytes_room_.data(), bytes_room_.size(), 0);
    if (size < 0 && errno == EAGAIN) return;
    if (size <= 0) return drop(fd);
    const bool endless = bytes_room_[0] == 'G';
    kinds_[static_cast<std::size_t>(fd)] = endless ? Kind::endless_origin : Kind::patient_origin;
    if (!endless) return;
    if (!send_whole(fd, "HTTP/1.1 200 OK\r\nContent-Length: 1000000000000\r\n\r\n")) return drop(fd);
    epoll_event wanted{};
    wanted.events = EPOLLOUT;
    wanted.data.u64 = static_cast<std::uint64_t>(fd);
    epoll_ctl(epoll_, EPOLL_CTL_MOD, fd, &wanted);
  }

  void go_on_answering(int fd) {
    const ssize_t size = send(fd, bytes_room_.data(), bytes_room_.size(), MSG_NOSIGNAL);
    if (size < 0 && errno != EAGAIN) drop(fd);
  }

  void swallow(int fd) {
    const ssize_t size = recv(fd, bytes_room_.data(), bytes_room_.size(), 0);
    if (size == 0 || (size < 0 && errno != EAGAIN)) drop(fd);
  }

  const std::uint16_t proxy_port_;
  const int epoll_ = new_epoll();
  const int listener_ = listen_on_loopback();
  std::vector<Kind> kinds_;  ///< by file descriptor
  std::vector<char> bytes_room_ = std::vector<char>(64 * 1024, 'x');
  std::size_t opened_ = 0, let_go_ = 0, bytes_ = 0, part_ = 0;
  std::int64_t next_bytes_ = 0;
  bool over_ = false;
};

int run(int count, char** words) {
  if (count != 5) die(std::string(kUsage));
  const auto number = [&](int at) { return std::strtoul(words[at], nullptr, 10); };
  allow_open_files(2 * (number(2) + number(3) + number(4)) + 64);
  Slow slow(static_cast<std::uint16_t>(number(1)));
  const std::array kinds{Kind::head, Kind::body, Kind::reader};
  for (std::size_t at = 0; at < kinds.size(); ++at) {
    for (std::size_t n = 0; n < number(static_cast<int>(at) + 2); ++n) {
      if (n % 5 == 0) poll(nullptr, 0, 1);  // slower than the proxy accepts
      slow.add(kinds[at]);
    }
  }
  std::puts("ready");
  std::fflush(stdout);
  slow.live();
  return 0;
}

}  // namespace
}  // namespace penstock::bench

int main(int count, char** words) { return penstock::bench::run(count, words); }
