// SPDX-License-Identifier: Apache-2.0
// experiment_workers: clients that ask the experiment's origin again and again, each as soon as it has its answer, the
// same number of them through each of several proxies; one thread. An answer that is not as expected ends the program.
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "bench/answer.h"
#include "bench/sockets.h"

namespace penstock::experiment {
namespace {

using bench::die;
using Clock = std::chrono::steady_clock;

constexpr std::string_view kUsage =
    "usage: experiment_workers ORIGIN-PORT WORKERS SECONDS PROXY-PORT...\n"
    "WORKERS for each proxy, the n-th of which is process n, from 0. Says `ready`, waits for a line, lets them ask "
    "for\n"
    "SECONDS, waits for the last answers, and says how many came through each proxy and the longest wait:\n"
    "  {\"answers\": [1, 2], \"worst_ms\": [3.0, 4.0]}";

constexpr int kPatienceMs = 30'000;
constexpr std::size_t kAnswerBytes = 64;

struct Proxy {
  std::string request;
  std::size_t answers = 0;
  Clock::duration worst{};
};

struct Worker {
  int fd;
  std::size_t process;
  Clock::time_point asked{};
  std::string answer{};
};

std::string request_of(std::size_t process, const std::string& origin_port) {
  const std::string origin = "127.0.0.1:" + origin_port;
  return "GET http://" + origin + "/0 HTTP/1.1\r\nHost: " + origin +
         "\r\nExperiment-Process: " + std::to_string(process) + "\r\n\r\n";
}

class Load {
 public:
  void add(const std::string& origin_port, std::uint16_t proxy_port, std::size_t workers) {
    const std::size_t process = proxies_.size();
    proxies_.push_back({request_of(process, origin_port)});
    for (std::size_t n = 0; n < workers; ++n) {
      const int fd = bench::connect_to_loopback(proxy_port);
      bench::watch(epoll_, fd, workers_.size());
      workers_.push_back({fd, process});
    }
  }

  void ask_for(double seconds) {
    const Clock::time_point now = Clock::now();
    until_ = now + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
    interleave([&](Worker& worker) { ask(worker, now); });
    while (missing_ > 0) turn();
  }

  void report() const {
    const auto list = [&](auto text_of) {
      std::string text;
      for (const Proxy& proxy : proxies_) text += (text.empty() ? "" : ", ") + text_of(proxy);
      return text;
    };
    const auto answers = [](const Proxy& proxy) { return std::to_string(proxy.answers); };
    const auto worst = [](const Proxy& proxy) {
      return std::to_string(std::chrono::duration<double, std::milli>(proxy.worst).count());
    };
    std::printf("{\"answers\": [%s], \"worst_ms\": [%s]}\n", list(answers).c_str(), list(worst).c_str());
    std::fflush(stdout);
  }

 private:
  /// The first of every process, then the second of every process: none has a head start.
  void interleave(auto action) {
    const std::size_t each = workers_.size() / proxies_.size();
    for (std::size_t n = 0; n < each; ++n) {
      for (std::size_t process = 0; process < proxies_.size(); ++process) action(workers_[process * each + n]);
    }
  }

  void ask(Worker& worker, Clock::time_point now) {
    worker.answer.clear();
    worker.asked = now;
    if (!bench::send_whole(worker.fd, proxies_[worker.process].request)) die("the proxy closed an idle connection");
    ++missing_;
  }

  void turn() {
    std::array<epoll_event, 256> events;
    const int ready = epoll_wait(epoll_, events.data(), events.size(), kPatienceMs);
    if (ready == 0) die(std::to_string(missing_) + " requests are without an answer for 30 s");
    if (ready < 0 && errno != EINTR) bench::die_of_errno("epoll_wait");
    for (int at = 0; at < ready; ++at) receive(workers_[events[at].data.u64]);
  }

  void receive(Worker& worker) {
    std::array<char, 4096> bytes;
    const ssize_t size = recv(worker.fd, bytes.data(), bytes.size(), 0);
    if (size < 0 && errno == EAGAIN) return;
    if (size <= 0) die("a connection ended in the middle of an answer");
    worker.answer.append(bytes.data(), static_cast<std::size_t>(size));
    const bench::Arrival arrival = bench::judge(worker.answer, body_);
    if (arrival == bench::Arrival::wrong) die("not the expected answer:\n" + worker.answer.substr(0, 600));
    if (arrival == bench::Arrival::whole) finish(worker);
  }

  void finish(Worker& worker) {
    const Clock::time_point now = Clock::now();
    Proxy& proxy = proxies_[worker.process];
    proxy.worst = std::max(proxy.worst, now - worker.asked);
    ++proxy.answers;
    --missing_;
    if (now < until_) ask(worker, now);
  }

  const std::string body_ = bench::answer_body(kAnswerBytes);
  const int epoll_ = bench::new_epoll();
  std::vector<Proxy> proxies_;
  std::vector<Worker> workers_;
  Clock::time_point until_{};
  std::size_t missing_ = 0;
};

void run(int count, char** words) {
  if (count < 5) die(std::string(kUsage));
  const auto workers = std::strtoul(words[2], nullptr, 10);
  bench::allow_open_files(workers * static_cast<std::size_t>(count - 4) + 64);
  Load load;
  for (int at = 4; at < count; ++at) {
    load.add(words[1], static_cast<std::uint16_t>(std::atoi(words[at])), workers);
  }
  std::puts("ready");
  std::fflush(stdout);
  while (std::getchar() != '\n') {
    if (std::feof(stdin)) return;
  }
  load.ask_for(std::atof(words[3]));
  load.report();
}

}  // namespace
}  // namespace penstock::experiment

int main(int count, char** words) { penstock::experiment::run(count, words); }
