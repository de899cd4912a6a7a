// SPDX-License-Identifier: Apache-2.0
// experiment_origin: the upstream of the reference experiment, one thread. Answers every request at once, and keeps
// when it arrived in the kernel, which process it came through and for which group. Says `port N` when it listens; at
// the end of its standard input a line `NANOSECONDS PROCESS GROUP` for each arrival, in their order.
// A request is `GET /GROUP` with a field `Experiment-Process`, both whole numbers; any other ends the program.
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "bench/answer.h"
#include "bench/sockets.h"

namespace penstock::experiment {
namespace {

using bench::die;
using bench::die_of_errno;

constexpr std::string_view kEndOfHead = "\r\n\r\n";
constexpr std::string_view kProcess = "\r\nExperiment-Process: ";
constexpr std::size_t kAnswerBytes = 64;

/// Nanoseconds since 1970, without the steps and the slewing that the system's clock may suffer meanwhile: windows are
/// aligned to 1970, and gaps are to be those of a steady clock.
class Clock {
 public:
  std::int64_t now() const { return begin_ + since(steady_begin_); }

 private:
  using Steady = std::chrono::steady_clock;
  static std::int64_t nanoseconds(auto duration) {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(duration).count();
  }
  static std::int64_t since(Steady::time_point then) { return nanoseconds(Steady::now() - then); }

  const std::int64_t begin_ = nanoseconds(std::chrono::system_clock::now().time_since_epoch());
  const Steady::time_point steady_begin_ = Steady::now();
};

struct Arrival {
  std::int64_t at;
  int process;
  int group;
};

[[noreturn]] void die_of(std::string_view head) { die("not a request of the experiment:\n" + std::string(head)); }

int number_at(std::string_view head, std::size_t place) {
  int value = 0;
  if (std::from_chars(head.data() + place, head.data() + head.size(), value).ec != std::errc{}) die_of(head);
  return value;
}

int process_of(std::string_view head) {
  const std::size_t place = head.find(kProcess);
  if (place == head.npos) die_of(head);
  return number_at(head, place + kProcess.size());
}

/// The target's last segment: it may be in absolute form.
int group_of(std::string_view head) { return number_at(head, head.rfind('/', head.find(" HTTP/1.1")) + 1); }

class Origin {
 public:
  void run() {
    const int on = 1;  // for those that it will accept, too
    if (setsockopt(listener_, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on) != 0) die_of_errno("SO_TIMESTAMPNS");
    bench::watch(epoll_, STDIN_FILENO, STDIN_FILENO);
    bench::watch(epoll_, listener_, static_cast<std::uint64_t>(listener_));
    std::printf("port %d\n", bench::port_of(listener_));
    std::fflush(stdout);
    while (!over_) turn();
    std::ranges::sort(arrivals_, {}, &Arrival::at);
    for (const Arrival& arrival : arrivals_) {
      std::printf("%lld %d %d\n", static_cast<long long>(arrival.at), arrival.process, arrival.group);
    }
  }

 private:
  void turn() {
    std::array<epoll_event, 256> events;
    const int ready = epoll_wait(epoll_, events.data(), events.size(), -1);
    if (ready < 0 && errno != EINTR) die_of_errno("epoll_wait");
    for (int at = 0; at < ready; ++at) serve(static_cast<int>(events[at].data.u64));
  }

  void serve(int fd) {
    if (fd == listener_) return accept_all();
    if (fd == STDIN_FILENO) return obey();
    receive(fd);
  }

  void accept_all() {
    for (int fd; (fd = accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0;) {
      if (partial_.size() <= static_cast<std::size_t>(fd)) partial_.resize(fd + 1);
      bench::watch(epoll_, fd, static_cast<std::uint64_t>(fd));
    }
    if (errno != EAGAIN) die_of_errno("accept");
  }

  void obey() {
    std::array<char, 256> line;
    over_ = read(STDIN_FILENO, line.data(), line.size()) <= 0;
  }

  void receive(int fd) {
    std::array<char, 16384> bytes;
    alignas(cmsghdr) std::array<char, 256> stamps;
    iovec room{bytes.data(), bytes.size()};
    msghdr message{};
    message.msg_iov = &room, message.msg_iovlen = 1;
    message.msg_control = stamps.data(), message.msg_controllen = stamps.size();
    const ssize_t size = recvmsg(fd, &message, 0);
    const std::int64_t now = clock_.now() - age_of(message);
    if (size < 0 && errno == EAGAIN) return;
    if (size <= 0) return forget(fd);
    std::string& head = partial_[fd].append(bytes.data(), static_cast<std::size_t>(size));
    for (std::size_t end; (end = head.find(kEndOfHead)) != head.npos; head.erase(0, end + kEndOfHead.size())) {
      const std::string_view one(head.data(), end);
      arrivals_.push_back({now, process_of(one), group_of(one)});
      bench::send_whole(fd, answer_);
    }
  }

  /// How long ago the kernel had what was received: this program is one of many on a few cores, and is late itself.
  static std::int64_t age_of(msghdr& message) {
    for (cmsghdr* one = CMSG_FIRSTHDR(&message); one; one = CMSG_NXTHDR(&message, one)) {
      if (one->cmsg_level != SOL_SOCKET || one->cmsg_type != SCM_TIMESTAMPNS) continue;
      timespec came, now;
      std::memcpy(&came, CMSG_DATA(one), sizeof came);
      clock_gettime(CLOCK_REALTIME, &now);
      if (came.tv_sec > 0) return (now.tv_sec - came.tv_sec) * 1'000'000'000LL + now.tv_nsec - came.tv_nsec;
    }
    return 0;
  }

  void forget(int fd) {
    partial_[fd].clear();
    close(fd);
  }

  const Clock clock_;
  const std::string answer_ = bench::whole_answer(kAnswerBytes);
  const int epoll_ = bench::new_epoll();
  const int listener_ = bench::listen_on_loopback();
  std::vector<std::string> partial_;  ///< by file descriptor: the beginning of a head
  std::vector<Arrival> arrivals_;
  bool over_ = false;
};

}  // namespace
}  // namespace penstock::experiment

int main() {
  penstock::bench::allow_open_files(2048);
  penstock::experiment::Origin().run();
}
