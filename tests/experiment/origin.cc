// SPDX-License-Identifier: Apache-2.0
// experiment_origin: the upstream of the reference experiment, one thread. Answers every request at once, and keeps
// when it arrived in the kernel, which process it came through and for which group. Says `port N` when it listens; at
// the end of its standard input a line `NANOSECONDS PROCESS GROUP` for each arrival, in their order.
// A request is `GET /GROUP` with a field `Experiment-Process`, both whole numbers; any other ends the program.
#include <sys/socket.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/answer.h"
#include "bench/server.h"

namespace penstock::experiment {
namespace {

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

[[noreturn]] void die_of(std::string_view head) {
  bench::die("not a request of the experiment:\n" + std::string(head));
}

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

class Origin final : public bench::Server {
 public:
  Origin() {
    const int on = 1;  // for those that it will accept, too
    if (setsockopt(listener(), SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on) != 0) bench::die_of_errno("SO_TIMESTAMPNS");
  }

  void tell() {
    std::ranges::sort(arrivals_, {}, &Arrival::at);
    for (const Arrival& arrival : arrivals_) {
      std::printf("%lld %d %d\n", static_cast<long long>(arrival.at), arrival.process, arrival.group);
    }
  }

 private:
  ssize_t read(int fd, std::span<char> bytes) override {
    alignas(cmsghdr) std::array<char, 256> stamps;
    iovec room{bytes.data(), bytes.size()};
    msghdr message{};
    message.msg_iov = &room, message.msg_iovlen = 1;
    message.msg_control = stamps.data(), message.msg_controllen = stamps.size();
    const ssize_t size = recvmsg(fd, &message, 0);
    came_ = clock_.now() - age_of(message);
    return size;
  }

  void request(int fd, std::string_view head) override {
    arrivals_.push_back({came_, process_of(head), group_of(head)});
    bench::send_whole(fd, answer_);
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

  const Clock clock_;
  const std::string answer_ = bench::whole_answer(kAnswerBytes);
  std::vector<Arrival> arrivals_;
  std::int64_t came_ = 0;  // what was read last
};

}  // namespace
}  // namespace penstock::experiment

int main() {
  penstock::bench::allow_open_files(2048);
  penstock::experiment::Origin origin;
  origin.run();
  origin.tell();
}
