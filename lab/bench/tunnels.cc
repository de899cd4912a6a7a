// SPDX-License-Identifier: Apache-2.0
// bench_tunnels: both ends of tunnels through a proxy, one thread, as cheap as it can be. Says `port N`, where tunnels
// lead, and obeys orders on its standard input, one after the other, until that ends (`script/bench tunnels` gives
// them).
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "bench/cues.h"
#include "bench/histogram.h"
#include "bench/sockets.h"

namespace penstock::bench {
namespace {

constexpr std::string_view kUsage =
    "orders: flow PROXY-PORT connect|plain TUNNELS WRITE-BYTES up|down|both WARM-UP-SECONDS SECONDS\n"
    "          bytes as fast as they go\n"
    "        churn PROXY-PORT connect|plain AT-ONCE WARM-UP-SECONDS SECONDS\n"
    "          tunnels opened, tried by a byte there and back, and closed\n"
    "Each warms up, says `ready`, waits for a line, measures, and says what it measured. `plain` is for a proxy that\n"
    "leads here whoever connects. All on 127.0.0.1.";

constexpr int kPatienceMs = 30'000;
constexpr std::size_t kMostWritten = 64 * 1024;
constexpr std::size_t kMostRead = 256 * 1024;
constexpr std::size_t kPeriod = 65'521;  // a prime: no block size of anybody divides it
constexpr unsigned kComparedOf = 16;     // one read of so many is compared, the others are counted

/// What all ends say, from wherever in it: an endless text, of which any piece up to kPeriod is in one.
std::string endless_text() {
  std::string text(2 * kPeriod + kMostRead, '\0');
  std::uint32_t state = 0x9e3779b9;
  for (std::size_t at = 0; at < text.size(); ++at) {
    state ^= state << 13, state ^= state >> 17, state ^= state << 5;
    text[at] = at < kPeriod ? static_cast<char>(state >> 24) : text[at - kPeriod];
  }
  return text;
}

struct Order {
  std::string what, proxy_port, way;
  std::size_t tunnels = 0, write = 0;
  std::string direction;
  double warm_up = 0, seconds = 0;

  explicit Order(const std::string& line) {
    std::istringstream words(line);
    words >> what >> proxy_port >> way >> tunnels;
    if (what == "flow") words >> write >> direction;
    words >> warm_up >> seconds;
    const bool known = what == "flow" || what == "churn";
    if (!words || !known || (way != "connect" && way != "plain") || write > kMostWritten) die(std::string(kUsage));
  }

  std::uint16_t port() const { return static_cast<std::uint16_t>(std::stoul(proxy_port)); }
};

/// One end of a tunnel.
struct End {
  int fd = -1;
  bool far = false;
  bool open = false;   // of a client: its 200 has come
  bool tried = false;  // by a byte there and back
  std::int64_t asked_at = 0;
  std::uint64_t sent = 0, received = 0;
  std::string head;
};

class Tunnels {
 public:
  Tunnels() { watch(epoll_, listener_, static_cast<std::uint64_t>(listener_)); }
  std::uint16_t port() const { return port_of(listener_); }

  void obey(const Order& order) {
    order_ = &order;
    sent_ = received_ = tunnels_ = 0;
    if (order.what == "flow") open_all();
    run_for(order.warm_up);
    say("ready");
    std::string line;
    if (!std::getline(std::cin, line)) return;
    const auto received = received_;
    const auto tunnels = tunnels_;
    latencies_ = Histogram{};
    const auto begin = now_ns();
    run_for(order.seconds);
    report(received_ - received, tunnels_ - tunnels, static_cast<double>(now_ns() - begin) / 1e9);
    close_all();
  }

 private:
  /// Ends when the time is over and everything that was begun is done.
  void run_for(double seconds) {
    until_ = now_ns() + to_ns(seconds);
    busy_ = true;
    if (order_->what == "churn") {
      for (std::size_t at = 0; at < order_->tunnels; ++at) ask();
    } else {
      wish_to_send(true);
    }
    while (busy_ || is_on_its_way()) {
      turn();
      if (busy_ && now_ns() >= until_) rest();
    }
  }

  void rest() {
    busy_ = false;
    if (order_->what == "flow") wish_to_send(false);
  }

  bool is_on_its_way() const { return order_->what == "flow" ? received_ != sent_ : alive_ > 0; }

  void open_all() {
    tried_ = 0;
    for (std::size_t at = 0; at < order_->tunnels; ++at) ask();
    while (tried_ < order_->tunnels) turn();
  }

  void ask() {
    const auto asked_at = now_ns();
    const int fd = connect_to_loopback(order_->port());
    End& end = add(fd, false);
    end.asked_at = asked_at;
    if (order_->way == "plain") return opened(end);
    const std::string far = "127.0.0.1:" + std::to_string(port());
    if (!send_whole(fd, "CONNECT " + far + " HTTP/1.1\r\nHost: " + far + "\r\n\r\n")) die("the proxy hung up");
  }

  void opened(End& end) {
    end.open = true;
    if (!send_whole(end.fd, "x")) die("the proxy hung up");
  }

  End& add(int fd, bool far) {
    if (ends_.size() <= static_cast<std::size_t>(fd)) ends_.resize(static_cast<std::size_t>(fd) + 1);
    ends_[static_cast<std::size_t>(fd)] = std::make_unique<End>(End{.fd = fd, .far = far, .open = far, .head = {}});
    watch(epoll_, fd, static_cast<std::uint64_t>(fd));
    ++alive_;
    return *ends_[static_cast<std::size_t>(fd)];
  }

  void drop(End& end) {
    const int fd = end.fd;
    ends_[static_cast<std::size_t>(fd)].reset();
    close(fd);
    --alive_;
  }

  void close_all() {
    for (auto& end : ends_) {
      if (end && !end->far) drop(*end);
    }
    while (alive_ > 0) turn();
  }

  bool sends(const End& end) const {
    return order_->direction == "both" || (order_->direction == (end.far ? "down" : "up"));
  }

  void wish_to_send(bool wished) {
    for (const auto& end : ends_) {
      if (!end || !sends(*end)) continue;
      epoll_event wanted{};
      wanted.events = wished ? EPOLLIN | EPOLLOUT : EPOLLIN;
      wanted.data.u64 = static_cast<std::uint64_t>(end->fd);
      if (epoll_ctl(epoll_, EPOLL_CTL_MOD, end->fd, &wanted) != 0) die_of_errno("epoll_ctl");
    }
  }

  void turn() {
    std::array<epoll_event, 256> events;
    const int ready = epoll_wait(epoll_, events.data(), events.size(), kPatienceMs);
    if (ready == 0) die("nothing has moved for 30 s");
    if (ready < 0 && errno != EINTR) die_of_errno("epoll_wait");
    for (int at = 0; at < ready; ++at) serve(events[static_cast<std::size_t>(at)]);
  }

  void serve(const epoll_event& event) {
    const auto fd = static_cast<std::size_t>(event.data.u64);
    if (static_cast<int>(fd) == listener_) return accept_all();
    if (event.events & EPOLLOUT) send_some(*ends_[fd]);
    if (event.events & (EPOLLIN | EPOLLHUP | EPOLLERR)) receive(*ends_[fd]);
  }

  void accept_all() {
    for (int fd; (fd = accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0;) {
      set_no_delay(fd);
      add(fd, true);
    }
    if (errno != EAGAIN) die_of_errno("accept");
  }

  void send_some(End& end) {
    const auto size = send(end.fd, text_.data() + end.sent % kPeriod, order_->write, MSG_NOSIGNAL);
    if (size < 0 && errno == EAGAIN) return;
    if (size < 0) die_of_errno("send");
    end.sent += static_cast<std::uint64_t>(size);
    sent_ += static_cast<std::uint64_t>(size);
  }

  void receive(End& end) {
    if (!end.open) return take_head(end);
    const bool compared = !end.tried || ++reads_ % kComparedOf == 0;
    const auto size = recv(end.fd, bytes_.data(), bytes_.size(), compared ? 0 : MSG_TRUNC);  // which copies nothing
    if (size < 0 && errno == EAGAIN) return;
    if (size <= 0) return over(end);
    if (!end.tried) return answer(end, {bytes_.data(), static_cast<std::size_t>(size)});
    if (compared) compare(end, static_cast<std::size_t>(size));
    end.received += static_cast<std::uint64_t>(size);
    received_ += static_cast<std::uint64_t>(size);
  }

  void compare(const End& end, std::size_t size) const {
    const auto wanted = std::string_view(text_).substr(end.received % kPeriod, size);
    if (std::string_view(bytes_.data(), size) != wanted) die("a tunnel gave other bytes than were sent");
  }

  /// Of the answer to a CONNECT. Nobody has begun to speak, so nothing stands behind it.
  void take_head(End& end) {
    const auto size = recv(end.fd, bytes_.data(), bytes_.size(), 0);
    if (size < 0 && errno == EAGAIN) return;
    end.head.append(bytes_.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
    const bool whole = end.head.ends_with("\r\n\r\n");
    if (size <= 0 || (whole && !end.head.starts_with("HTTP/1.1 200 "))) die("no tunnel came about:\n" + end.head);
    if (whole) opened(end);
  }

  /// The byte by which a tunnel is tried.
  void answer(End& end, std::string_view bytes) {
    if (bytes != "x") die("a tunnel gave other bytes than were sent");
    end.tried = true;
    if (end.far) return void(send_whole(end.fd, bytes));
    ++tried_;
    if (order_->what == "flow") return;
    latencies_.add(now_ns() - end.asked_at);
    ++tunnels_;
    drop(end);
    if (busy_ && now_ns() < until_) ask();
  }

  void over(End& end) {
    if (!end.far) die("the proxy closed a tunnel");
    drop(end);
  }

  void report(std::uint64_t bytes, std::uint64_t tunnels, double seconds) const {
    std::ostringstream line;
    line << "{\"bytes\": " << bytes << ", \"tunnels\": " << tunnels << ", \"with_warm_up\": " << tunnels_
         << ", \"seconds\": " << seconds << ", \"p50_us\": " << latencies_.quantile_us(0.50)
         << ", \"p99_us\": " << latencies_.quantile_us(0.99) << "}";
    say(line.str());
  }

  const std::string text_ = endless_text();
  std::vector<char> bytes_ = std::vector<char>(kMostRead);
  const int epoll_ = new_epoll();
  const int listener_ = listen_on_loopback();
  const Order* order_ = nullptr;
  std::vector<std::unique_ptr<End>> ends_;  ///< by file descriptor
  std::size_t alive_ = 0, tried_ = 0;
  std::uint64_t sent_ = 0, received_ = 0, tunnels_ = 0;
  unsigned reads_ = 0;
  bool busy_ = false;
  std::int64_t until_ = 0;
  Histogram latencies_;
};

}  // namespace
}  // namespace penstock::bench

int main() {
  using namespace penstock::bench;
  allow_open_files(64);
  Tunnels tunnels;
  say("port " + std::to_string(tunnels.port()));
  for (std::string line; std::getline(std::cin, line);) tunnels.obey(Order(line));
}
