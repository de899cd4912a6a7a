// SPDX-License-Identifier: Apache-2.0
// One tunnel and much to carry: byte for byte, in memory that does not grow, with readers that stop for a while.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <fstream>

#include "system/tunnels.h"

namespace penstock::trial {
namespace {

/// The most that the kernel keeps for one connection, both its ends together.
std::uint64_t most_in_kernel() {
  std::uint64_t sum = 0;
  for (const char* name : {"tcp_rmem", "tcp_wmem"}) {
    std::ifstream file("/proc/sys/net/ipv4/" + std::string(name));
    std::uint64_t least = 0, usual = 0, most = 0;
    file >> least >> usual >> most;
    sum += most;
  }
  return sum;
}

/// The most memory that the program ever had.
std::uint64_t peak_kib(const Daemon& daemon) {
  std::ifstream file("/proc/" + std::to_string(daemon.pid()) + "/status");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("VmHWM:")) return std::stoull(line.substr(6));
  }
  return 0;
}

/// One direction of the tunnel.
class Flow {
 public:
  Flow(Socket& from, Socket& to, std::uint64_t size) : from_(from), to_(to), size_(size) {}

  std::uint64_t sent() const { return sent_; }
  std::uint64_t read() const { return read_; }
  bool done() const { return ended_; }
  bool exact() const { return exact_ && read_ == size_; }
  bool reads = true;

  /// What its ends wait for.
  short sender_wants() const { return sent_ < size_ ? POLLOUT : 0; }
  short reader_wants() const { return reads && !ended_ ? POLLIN : 0; }

  void send_some() {
    if (to_say_.empty()) to_say_ = pattern(sent_, std::min<std::uint64_t>(kPiece, size_ - sent_));
    const auto size = ::send(from_.fd(), to_say_.data(), to_say_.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (size <= 0) return;
    sent_ += static_cast<std::uint64_t>(size);
    to_say_.erase(0, static_cast<std::size_t>(size));
    if (sent_ == size_) from_.half_close();
  }

  void read_some() {
    const auto size = ::recv(to_.fd(), bytes_.data(), bytes_.size(), MSG_DONTWAIT);
    if (size < 0 && errno == EAGAIN) return;
    ended_ = size <= 0;
    if (ended_) return;
    exact_ = exact_ && is_pattern(read_, {bytes_.data(), static_cast<std::size_t>(size)});
    read_ += static_cast<std::uint64_t>(size);
  }

 private:
  static constexpr std::size_t kPiece = 256 * 1024;

  Socket& from_;
  Socket& to_;
  const std::uint64_t size_;
  std::uint64_t sent_ = 0, read_ = 0;
  std::string to_say_;
  std::string bytes_ = std::string(kPiece, '\0');
  bool ended_ = false, exact_ = true;
};

/// Both directions of an open tunnel, at once.
struct Both {
  Both(Tunnels::Pair& pair, std::uint64_t size)
      : client(pair.client->socket),
        upstream(pair.upstream->socket),
        up(client, upstream, size),
        down(upstream, client, size) {}

  bool done() const { return up.done() && down.done(); }

  /// False: for so long nothing could be sent or read.
  bool move(std::chrono::milliseconds patience) {
    std::array<pollfd, 2> ends{pollfd{client.fd(), static_cast<short>(up.sender_wants() | down.reader_wants()), 0},
                               pollfd{upstream.fd(), static_cast<short>(down.sender_wants() | up.reader_wants()), 0}};
    for (auto& end : ends) {
      if (end.events == 0) end.fd = -1;
    }
    if (::poll(ends.data(), ends.size(), static_cast<int>(patience.count())) <= 0) return false;
    const auto broken = POLLERR | POLLHUP;
    if (ends[0].revents & (POLLOUT | broken)) up.send_some();
    if (ends[1].revents & (POLLOUT | broken)) down.send_some();
    if (ends[0].revents & (POLLIN | broken) && down.reads) down.read_some();
    if (ends[1].revents & (POLLIN | broken) && up.reads) up.read_some();
    return true;
  }

  Socket& client;
  Socket& upstream;
  Flow up, down;
};

/// The reader of `flow` stops where it is; what its sender gets rid of meanwhile is bounded, and the other direction
/// goes on.
void expect_pause(Both& both, Flow& flow, const Flow& other) {
  flow.reads = false;
  const auto begin = other.read();
  const auto until = Clock::now() + kPatience;
  auto taken = flow.sent();
  for (auto still = Clock::now(); Clock::now() < still + 300ms && Clock::now() < until;) {
    both.move(50ms);
    if (std::exchange(taken, flow.sent()) != flow.sent()) still = Clock::now();
  }
  EXPECT_LE(flow.sent() - flow.read(), 2 * most_in_kernel() + 2 * kMiB);
  EXPECT_GT(other.read(), begin) << "the other direction stands still, too";
  flow.reads = true;
}

TEST(TunnelBytes, of_a_gibibyte_each_way_are_exact_and_take_no_memory_while_a_reader_stops) {
  const std::uint64_t size = (is_sanitized() ? 256 : 1024) * kMiB;
  Tunnels stage;
  auto pair = stage.open();
  Both both(pair, size);
  const auto read_until = [&](const Flow& flow, std::uint64_t wanted) {
    while (flow.read() < wanted && !flow.done() && both.move(kPatience)) {
    }
    ASSERT_GE(flow.read(), wanted);
  };
  read_until(both.down, 16 * kMiB);
  const auto before = peak_kib(stage.daemon);
  expect_pause(both, both.down, both.up);
  read_until(both.down, size / 2);
  expect_pause(both, both.up, both.down);
  while (!both.done() && both.move(kPatience)) {
  }
  EXPECT_TRUE(both.up.exact()) << both.up.read();
  EXPECT_TRUE(both.down.exact()) << both.down.read();
  EXPECT_LE(peak_kib(stage.daemon), before + (is_sanitized() ? 32 : 4) * 1024);
  const auto ended = stage.daemon.await_events(1, "complete");
  ASSERT_EQ(ended.size(), 1u);
  EXPECT_EQ(ended[0].at("bytesIn"), size);
  EXPECT_EQ(ended[0].at("bytesOut"), size);
}

}  // namespace
}  // namespace penstock::trial
