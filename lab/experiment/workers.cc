// SPDX-License-Identifier: Apache-2.0
// experiment_workers: clients that ask the experiment's origin again and again, each as soon as it has its answer; a
// given number of them through each of several proxies. One thread. An unexpected answer ends the program, or is
// counted where that is wanted.
#include <sys/epoll.h>
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
    "usage: experiment_workers ORIGIN-PORT SECONDS FLIGHT ON-REFUSAL PROXY...\n"
    "PROXY is PORT:WORKERS:GROUPS; the n-th is process n, from 0. Its workers ask for the groups 1 to GROUPS in turn,\n"
    "or all for 0. FLIGHT: microseconds that the origin takes. ON-REFUSAL: `fail`, or `rest`: who is refused or cut "
    "off\n"
    "asks again 50 ms later, on another connection. Says `ready`, waits for a line, lets them ask for SECONDS, waits "
    "for\n"
    "the last answers, at most another second, and says how many came through each proxy, the longest wait, how many\n"
    "left without an answer, and what was refused:\n"
    "  {\"answers\": [1, 2], \"worst_ms\": [3.0, 4.0], \"left\": 0, \"refused\": {\"503 lease_lost\": 1, \"cut\": 2}}";

constexpr auto kPatience = std::chrono::seconds(1);  // how long to wait for the last answers
constexpr std::size_t kAnswerBytes = 64;
constexpr auto kRest = std::chrono::milliseconds(50);

struct Proxy {
  std::uint16_t port;
  std::size_t workers, groups;
  std::size_t answers = 0;
  Clock::duration worst{};
};

struct Worker {
  int fd;
  std::size_t process;
  std::string request{};
  Clock::time_point asked{};
  std::string answer{};
};

struct Rest {
  Clock::time_point until;
  std::size_t worker;
};

Proxy proxy_of(const char* words) {
  unsigned port = 0;
  std::size_t workers = 0, groups = 0;
  if (std::sscanf(words, "%u:%zu:%zu", &port, &workers, &groups) != 3) die(std::string(kUsage));
  return {static_cast<std::uint16_t>(port), workers, groups};
}

/// "503 lease_lost": the status, and the reason from Proxy-Status if the answer has one.
std::string reason_of(std::string_view answer) {
  constexpr std::string_view kReason = "\r\nProxy-Status: penstock; error=";
  if (!answer.starts_with("HTTP/1.1 ")) return "cut";
  std::string reason(answer.substr(9, 3));
  const std::size_t at = answer.find(kReason);
  if (at == answer.npos) return reason;
  const std::string_view rest = answer.substr(at + kReason.size());
  return reason + " " + std::string(rest.substr(0, rest.find_first_of(";\r")));
}

class Load {
 public:
  Load(std::string origin_port, std::string flight, bool fails)
      : origin_("127.0.0.1:" + origin_port), flight_(std::move(flight)), fails_(fails) {}

  void add(const Proxy& proxy) {
    const std::size_t process = proxies_.size();
    proxies_.push_back(proxy);
    for (std::size_t n = 0; n < proxy.workers; ++n) {
      const std::size_t group = proxy.groups == 0 ? 0 : 1 + n % proxy.groups;
      workers_.push_back({open(proxy.port, workers_.size()), process, request_of(process, group)});
    }
  }

  void ask_for(double seconds) {
    const Clock::time_point now = Clock::now();
    until_ = now + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
    interleave([&](Worker& worker) { ask(worker, now); });
    while (Clock::now() < until_ || (missing_ > 0 && Clock::now() < until_ + kPatience)) turn();
  }

  void report() const {
    const auto list = [](const auto& all, auto text_of) {
      std::string text;
      for (const auto& one : all) text += (text.empty() ? "" : ", ") + text_of(one);
      return text;
    };
    const auto answers = [](const Proxy& proxy) { return std::to_string(proxy.answers); };
    const auto worst = [](const Proxy& proxy) {
      return std::to_string(std::chrono::duration<double, std::milli>(proxy.worst).count());
    };
    const auto refused = [](const auto& one) { return "\"" + one.first + "\": " + std::to_string(one.second); };
    std::printf("{\"answers\": [%s], \"worst_ms\": [%s], \"left\": %zu, \"refused\": {%s}}\n",
                list(proxies_, answers).c_str(), list(proxies_, worst).c_str(), missing_,
                list(refused_, refused).c_str());
    std::fflush(stdout);
  }

 private:
  std::string request_of(std::size_t process, std::size_t group) const {
    return "GET http://" + origin_ + "/" + std::to_string(group) + " HTTP/1.1\r\nHost: " + origin_ +
           "\r\nExperiment-Process: " + std::to_string(process) + "\r\nExperiment-Flight: " + flight_ + "\r\n\r\n";
  }

  int open(std::uint16_t port, std::size_t worker) const {
    const int fd = bench::connect_to_loopback(port);
    bench::watch(epoll_, fd, worker);
    return fd;
  }

  /// Applies `action` to the first worker of every process, then to the second of every process, so that no process has
  /// a head start.
  void interleave(auto action) {
    std::vector<std::vector<Worker*>> of(proxies_.size());
    std::size_t most = 0;
    for (Worker& worker : workers_) {
      of[worker.process].push_back(&worker);
      most = std::max(most, of[worker.process].size());
    }
    for (std::size_t n = 0; n < most; ++n) {
      for (const auto& workers : of) {
        if (n < workers.size()) action(*workers[n]);
      }
    }
  }

  void ask(Worker& worker, Clock::time_point now) {
    worker.answer.clear();
    worker.asked = now;
    ++missing_;
    if (!bench::send_whole(worker.fd, worker.request)) refuse(worker);
  }

  void turn() {
    std::array<epoll_event, 256> events;
    const Clock::time_point now = Clock::now();
    auto until = now < until_ ? until_ : until_ + kPatience;
    if (!rests_.empty()) until = std::min(until, rests_.front().until);
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - now).count() + 1;
    const int ready = epoll_wait(epoll_, events.data(), events.size(), static_cast<int>(std::max<long>(0, left)));
    if (ready < 0 && errno != EINTR) bench::die_of_errno("epoll_wait");
    for (int at = 0; at < ready; ++at) receive(workers_[events[at].data.u64]);
    wake();
  }

  void receive(Worker& worker) {
    std::array<char, 4096> bytes;
    const ssize_t size = recv(worker.fd, bytes.data(), bytes.size(), 0);
    if (size < 0 && errno == EAGAIN) return;
    if (size <= 0) return refuse(worker);
    worker.answer.append(bytes.data(), static_cast<std::size_t>(size));
    const bench::Arrival arrival = bench::judge(worker.answer, body_);
    if (arrival == bench::Arrival::wrong) return refuse(worker);
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

  void refuse(Worker& worker) {
    if (fails_) die("not the expected answer, or a connection that ended:\n" + worker.answer.substr(0, 600));
    ++refused_[reason_of(worker.answer)];
    --missing_;
    close(worker.fd);
    worker.fd = -1;
    rests_.push_back({Clock::now() + kRest, static_cast<std::size_t>(&worker - workers_.data())});
  }

  /// Workers whose rest is over ask again, unless time is over.
  void wake() {
    const Clock::time_point now = Clock::now();
    while (!rests_.empty() && rests_.front().until <= now) {
      const std::size_t number = rests_.front().worker;
      rests_.pop_front();
      if (now >= until_) continue;
      Worker& worker = workers_[number];
      worker.fd = open(proxies_[worker.process].port, number);
      ask(worker, now);
    }
  }

  const std::string origin_, flight_;
  const bool fails_;
  const std::string body_ = bench::answer_body(kAnswerBytes);
  const int epoll_ = bench::new_epoll();
  std::vector<Proxy> proxies_;
  std::vector<Worker> workers_;
  std::deque<Rest> rests_;  // earliest first
  std::map<std::string, std::size_t> refused_;
  Clock::time_point until_{};
  std::size_t missing_ = 0;
};

void run(int count, char** words) {
  if (count < 6) die(std::string(kUsage));
  std::vector<Proxy> proxies;
  std::size_t workers = 0;
  for (int at = 5; at < count; ++at) workers += proxies.emplace_back(proxy_of(words[at])).workers;
  bench::allow_open_files(workers + 64);
  Load load(words[1], words[3], words[4] != std::string_view("rest"));
  for (const Proxy& proxy : proxies) load.add(proxy);
  std::puts("ready");
  std::fflush(stdout);
  while (std::getchar() != '\n') {
    if (std::feof(stdin)) return;
  }
  load.ask_for(std::atof(words[2]));
  load.report();
}

}  // namespace
}  // namespace penstock::experiment

int main(int count, char** words) { penstock::experiment::run(count, words); }
