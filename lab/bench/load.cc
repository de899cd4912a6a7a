// SPDX-License-Identifier: Apache-2.0
// bench_load: keep-alive clients that ask a proxy for the same thing again and again, one thread, as cheap as it can
// be. Each client sends its next request when it has the whole answer; the first answer that is not as expected ends
// the program. Lines on standard output tell where it is, lines on standard input let it go on (`script/bench` holds
// both).
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bench/answer.h"
#include "bench/cues.h"
#include "bench/histogram.h"
#include "bench/sockets.h"

namespace penstock::bench {
namespace {

constexpr std::string_view kUsage =
    "usage: bench_load loop PROXY-PORT ORIGIN-PORT LENGTH CLIENTS WARM-UP-SECONDS SECONDS\n"
    "         warms up, says `ready`, waits for a line, measures, says what it measured, and stays until\n"
    "         its input ends, so that its own cost can be read\n"
    "       bench_load pending PROXY-PORT ORIGIN-PORT LENGTH CLIENTS\n"
    "         sends one request per client, says `sent`, waits for all answers\n"
    "PROXY-PORT may be the origin's own. All on 127.0.0.1.";

constexpr int kPatienceMs = 30'000;
constexpr std::size_t kRoomForHead = 4096;
constexpr int kOpenedPerMillisecond = 5;  // slower than any proxy accepts, so that no listener's backlog overflows

struct Task {
  std::uint16_t proxy_port = 0;
  std::uint16_t origin_port = 0;
  std::size_t length = 0;
  std::size_t clients = 0;

  std::string request() const {
    const std::string origin = "127.0.0.1:" + std::to_string(origin_port);
    return "GET http://" + origin + "/bench/answer HTTP/1.1\r\nHost: " + origin +
           "\r\nUser-Agent: bench_load\r\nAccept: */*\r\n\r\n";
  }
};

struct Client {
  int fd = -1;
  std::int64_t sent_at = 0;
  std::size_t received = 0;
  std::unique_ptr<char[]> bytes;
};

class Load {
 public:
  explicit Load(const Task& task)
      : request_(task.request()), body_(answer_body(task.length)), room_(task.length + kRoomForHead) {
    for (std::size_t at = 0; at < task.clients; ++at) open(task.proxy_port);
  }

  /// Every client asks again and again until the time is over; returns when the last answer is in.
  void ask_for(double seconds) {
    const std::int64_t begin = now_ns();
    ask_until_ = begin + to_ns(seconds);
    latencies_ = Histogram{};
    for (Client& client : clients_) ask(client, now_ns());
    collect();
    elapsed_ = static_cast<double>(now_ns() - begin) / 1e9;
  }

  /// Every client asks once.
  void ask_once() {
    for (Client& client : clients_) ask(client, now_ns());
  }

  /// Takes answers until none is missing.
  void collect() {
    while (missing_ > 0) turn();
  }

  void report() const {
    std::printf("{\"requests\": %zu, \"with_warm_up\": %zu, \"seconds\": %.6f, \"p50_us\": %.1f, \"p99_us\": %.1f}\n",
                latencies_.total(), answered_, elapsed_, latencies_.quantile_us(0.50), latencies_.quantile_us(0.99));
    std::fflush(stdout);
  }

 private:
  void open(std::uint16_t port) {
    if (clients_.size() % kOpenedPerMillisecond == 0) poll(nullptr, 0, 1);
    const int fd = connect_to_loopback(port);
    watch(epoll_, fd, clients_.size());
    clients_.push_back({.fd = fd, .bytes = std::make_unique_for_overwrite<char[]>(room_)});
  }

  void ask(Client& client, std::int64_t now) {
    client.received = 0;
    client.sent_at = now;
    if (!send_whole(client.fd, request_)) die("the proxy closed an idle connection");
    ++missing_;
  }

  void turn() {
    std::array<epoll_event, 256> events;
    const int ready = epoll_wait(epoll_, events.data(), events.size(), kPatienceMs);
    if (ready == 0) die(std::to_string(missing_) + " requests are without an answer for 30 s");
    if (ready < 0 && errno != EINTR) die_of_errno("epoll_wait");
    for (int at = 0; at < ready; ++at) receive(clients_[events[at].data.u64]);
  }

  void receive(Client& client) {
    const ssize_t size = recv(client.fd, client.bytes.get() + client.received, room_ - client.received, 0);
    if (size < 0 && errno == EAGAIN) return;
    if (size <= 0) die("a connection ended in the middle of an answer");
    client.received += static_cast<std::size_t>(size);
    const std::string_view answer(client.bytes.get(), client.received);
    const Arrival arrival = judge(answer, body_);
    if (arrival == Arrival::wrong || (arrival == Arrival::partial && client.received == room_)) {
      die("not the expected answer:\n" + std::string(answer.substr(0, 600)));
    }
    if (arrival == Arrival::whole) finish(client);
  }

  void finish(Client& client) {
    const std::int64_t now = now_ns();
    latencies_.add(now - client.sent_at);
    ++answered_;
    --missing_;
    if (now < ask_until_) ask(client, now);
  }

  const std::string request_;
  const std::string body_;
  const std::size_t room_;
  const int epoll_ = new_epoll();
  std::vector<Client> clients_;
  Histogram latencies_;
  std::int64_t ask_until_ = 0;
  std::size_t missing_ = 0;
  std::size_t answered_ = 0;
  double elapsed_ = 0;
};

void loop(const Task& task, double warm_up, double seconds) {
  Load load(task);
  load.ask_for(warm_up);
  say("ready");
  wait_for_a_line();
  load.ask_for(seconds);
  load.report();
  wait_for_a_line();
}

void pending(const Task& task) {
  Load load(task);
  load.ask_once();
  say("sent");
  load.collect();
  load.report();
}

int run(int count, char** words) {
  const std::string mode = count > 1 ? words[1] : "";
  if (!(mode == "loop" && count == 8) && !(mode == "pending" && count == 6)) die(std::string(kUsage));
  const auto number = [&](int at) { return std::strtoul(words[at], nullptr, 10); };
  const Task task{.proxy_port = static_cast<std::uint16_t>(number(2)),
                  .origin_port = static_cast<std::uint16_t>(number(3)),
                  .length = number(4),
                  .clients = number(5)};
  allow_open_files(task.clients + 64);
  if (mode == "pending") {
    pending(task);
  } else {
    loop(task, std::atof(words[6]), std::atof(words[7]));
  }
  return 0;
}

}  // namespace
}  // namespace penstock::bench

int main(int count, char** words) { return penstock::bench::run(count, words); }
