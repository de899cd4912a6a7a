// SPDX-License-Identifier: Apache-2.0
// experiment_origin: the upstream of the reference experiment, one thread. It answers each request at once, or after
// the flight that the request asks for, and records when the request arrived in the kernel, its process, its group, and
// when it ended. It says `port N` when it listens. At the end of its standard input it prints a line `NANOSECONDS
// PROCESS GROUP NANOSECONDS` for each arrival, in order of arrival: the last number is when the request was answered or
// its client went away, and 0 if neither has happened.
// A request is `GET /GROUP` with a field `Experiment-Process`, both whole numbers, and optionally a field
// `Experiment-Flight` in microseconds; any other request ends the program. It obeys lines on its standard input:
//   retry SECONDS   answers the next request with 429 and Retry-After
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/answer.h"
#include "bench/server.h"

namespace penstock::experiment {
namespace {

constexpr std::string_view kProcess = "\r\nExperiment-Process: ", kFlight = "\r\nExperiment-Flight: ";
constexpr std::string_view kRetry = "retry ";
constexpr std::size_t kAnswerBytes = 64;

/// Nanoseconds since 1970, without later steps or slewing of the system clock: windows are aligned to 1970, but gaps
/// must be measured by a steady clock.
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
  std::int64_t ended = 0;
};

/// A request that is not answered yet.
struct Flight {
  std::size_t arrival;
  std::chrono::steady_clock::time_point due;
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

std::chrono::microseconds flight_of(std::string_view head) {
  const std::size_t place = head.find(kFlight);
  return std::chrono::microseconds(place == head.npos ? 0 : number_at(head, place + kFlight.size()));
}

/// The last segment of the request target, which may be in absolute form.
int group_of(std::string_view head) { return number_at(head, head.rfind('/', head.find(" HTTP/1.1")) + 1); }

class Origin final : public bench::Server {
 public:
  Origin() {
    const int on = 1;  // accepted sockets inherit it
    if (setsockopt(listener(), SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on) != 0) bench::die_of_errno("SO_TIMESTAMPNS");
  }

  void tell() {
    std::ranges::sort(arrivals_, {}, &Arrival::at);
    for (const Arrival& arrival : arrivals_) {
      std::printf("%lld %d %d %lld\n", static_cast<long long>(arrival.at), arrival.process, arrival.group,
                  static_cast<long long>(arrival.ended));
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
    const auto flight = flight_of(head);
    const Flight added{arrivals_.size() - 1, std::chrono::steady_clock::now() + flight};
    flights_.insert_or_assign(fd, added);
    flight.count() > 0 ? static_cast<void>(due_.emplace(added.due, fd)) : answer(fd);
  }

  void obey(std::string_view order) override {
    if (!order.starts_with(kRetry)) bench::die("no such order: " + std::string(order));
    const std::string seconds(order.substr(kRetry.size(), order.find('\n') - kRetry.size()));
    refusal_ = "HTTP/1.1 429 Too Many Requests\r\nRetry-After: " + seconds + "\r\nContent-Length: 0\r\n\r\n";
  }

  void gone(int fd) override { end(fd); }

  std::optional<std::chrono::steady_clock::time_point> due_at() const override {
    if (due_.empty()) return std::nullopt;
    return due_.begin()->first;
  }

  void due() override {
    const auto now = std::chrono::steady_clock::now();
    while (!due_.empty() && due_.begin()->first <= now) answer(due_.begin()->second);
  }

  void answer(int fd) {
    end(fd);  // first: the next request may come as soon as the answer is sent
    bench::send_whole(fd, refusal_.empty() ? answer_ : refusal_);
    refusal_.clear();
  }

  /// Ends the request on this connection, if there is one.
  void end(int fd) {
    const auto found = flights_.find(fd);
    if (found == flights_.end()) return;
    arrivals_[found->second.arrival].ended = clock_.now();
    due_.erase({found->second.due, fd});
    flights_.erase(found);
  }

  /// How long ago the kernel received the message. This program shares a few cores with many others and is late itself.
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
  std::map<int, Flight> flights_;  // by connection
  std::set<std::pair<std::chrono::steady_clock::time_point, int>> due_;
  std::string refusal_;    // sent instead of the next answer
  std::int64_t came_ = 0;  // arrival time of the last read
};

}  // namespace
}  // namespace penstock::experiment

int main() {
  prctl(PR_SET_TIMERSLACK, 1);  // nanosecond: the default of 50 µs would add to every flight
  penstock::bench::allow_open_files(2048);
  penstock::experiment::Origin origin;
  origin.run();
  origin.tell();
}
