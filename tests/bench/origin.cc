// SPDX-License-Identifier: Apache-2.0
// bench_origin: the upstream of a benchmark, one thread, as cheap as it can be. Answers every request with the same
// 200; knows no methods, paths or bodies. Says `port N` when it listens, obeys the lines `hold` (keep requests waiting)
// and `answer` (let them go) on its standard input, and at the end of that input says what it has seen.
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "bench/answer.h"
#include "bench/sockets.h"

namespace penstock::bench {
namespace {

constexpr std::string_view kEndOfHead = "\r\n\r\n";

class Origin {
 public:
  explicit Origin(std::size_t length) : answer_(whole_answer(length)) {}

  void run() {
    watch(epoll_, STDIN_FILENO, STDIN_FILENO);
    watch(epoll_, listener_, static_cast<std::uint64_t>(listener_));
    std::printf("port %d\n", port_of(listener_));
    std::fflush(stdout);
    while (!over_) turn();
    std::printf("requests %zu connections %zu most_held %zu\n", requests_, connections_, most_held_);
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
    for (int fd; (fd = accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0; ++connections_) {
      if (partial_.size() <= static_cast<std::size_t>(fd)) partial_.resize(fd + 1);
      watch(epoll_, fd, static_cast<std::uint64_t>(fd));
    }
    if (errno != EAGAIN) die_of_errno("accept");
  }

  void obey() {
    std::array<char, 256> line;
    const ssize_t size = read(STDIN_FILENO, line.data(), line.size());
    const std::string_view order(line.data(), size < 0 ? 0 : size);
    over_ = order.empty();
    if (order == "hold\n") holding_ = true;
    if (order == "answer\n") release();
  }

  void receive(int fd) {
    std::array<char, 16384> bytes;
    const ssize_t size = recv(fd, bytes.data(), bytes.size(), 0);
    if (size < 0 && errno == EAGAIN) return;
    if (size <= 0) return forget(fd);
    std::string& before = partial_[fd];
    if (before.empty()) {
      before = take_requests(fd, {bytes.data(), static_cast<std::size_t>(size)});
    } else {
      before.append(bytes.data(), size);
      before = take_requests(fd, before);
    }
  }

  /// Answers each whole head; gives back what is left of the bytes.
  std::string take_requests(int fd, std::string_view bytes) {
    for (std::size_t end; (end = bytes.find(kEndOfHead)) != bytes.npos; ++requests_) {
      bytes.remove_prefix(end + kEndOfHead.size());
      if (holding_) {
        held_.push_back(fd);
      } else {
        send_whole(fd, answer_);
      }
    }
    most_held_ = std::max(most_held_, held_.size());
    return std::string(bytes);
  }

  void release() {
    holding_ = false;
    for (const int fd : held_) send_whole(fd, answer_);
    held_.clear();
  }

  void forget(int fd) {
    std::erase(held_, fd);
    partial_[fd].clear();
    close(fd);
  }

  const std::string answer_;
  const int epoll_ = new_epoll();
  const int listener_ = listen_on_loopback();
  std::vector<std::string> partial_;  ///< by file descriptor: the beginning of a head
  std::vector<int> held_;             ///< connections whose answer is kept back
  std::size_t requests_ = 0;
  std::size_t connections_ = 0;
  std::size_t most_held_ = 0;
  bool holding_ = false;
  bool over_ = false;
};

}  // namespace
}  // namespace penstock::bench

int main(int count, char** words) {
  penstock::bench::allow_open_files(64);
  penstock::bench::Origin(count > 1 ? std::strtoul(words[1], nullptr, 10) : 1024).run();
}
