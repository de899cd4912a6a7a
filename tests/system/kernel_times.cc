// SPDX-License-Identifier: Apache-2.0
// One thread, which polls.
#include "system/kernel_times.h"

#include <poll.h>
#include <sys/socket.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace penstock::trial {

namespace {

constexpr int kTurnMs = 20;  // after which it looks whether it is to stop
constexpr std::string_view kAnswer = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

/// When the kernel had what was received; without its word, now, which is later.
Arrivals::Time stamp_of(msghdr& message) {
  for (cmsghdr* one = CMSG_FIRSTHDR(&message); one; one = CMSG_NXTHDR(&message, one)) {
    if (one->cmsg_level != SOL_SOCKET || one->cmsg_type != SCM_TIMESTAMPNS) continue;
    timespec came{};
    std::memcpy(&came, CMSG_DATA(one), sizeof came);
    if (came.tv_sec > 0)
      return Arrivals::Time(std::chrono::seconds(came.tv_sec) + std::chrono::nanoseconds(came.tv_nsec));
  }
  return std::chrono::system_clock::now();
}

}  // namespace

void KernelTimes::ask_kernel(const Socket& listener) {
  const int on = 1;  // for those that it will accept, too
  EXPECT_EQ(::setsockopt(listener.fd(), SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on), 0);
}

KernelTimes::KernelTimes(const Socket& listener) {
  ask_kernel(listener);
  EXPECT_EQ(::listen(listener.fd(), 1024), 0);
  worker_ = std::thread([this, fd = listener.fd()] { work(fd); });
}

KernelTimes::~KernelTimes() {
  stopping_ = true;
  worker_.join();
}

std::vector<Arrivals::Time> KernelTimes::times() const {
  const std::lock_guard lock(mutex_);
  auto times = times_;
  std::ranges::sort(times);
  return times;
}

bool KernelTimes::await(std::size_t count) const {
  return eventually([&] { return times().size() >= count; });
}

void KernelTimes::work(int listener) {
  std::vector<Socket> visitors;
  while (!stopping_) {
    std::vector<pollfd> wanted{{.fd = listener, .events = POLLIN, .revents = 0}};
    for (const Socket& visitor : visitors) wanted.push_back({.fd = visitor.fd(), .events = POLLIN, .revents = 0});
    ::poll(wanted.data(), wanted.size(), kTurnMs);
    for (std::size_t i = visitors.size(); i > 0; --i) {
      if (wanted[i].revents == 0 || serve(wanted[i].fd)) continue;
      visitors.erase(visitors.begin() + static_cast<std::ptrdiff_t>(i) - 1);
    }
    if (wanted[0].revents != 0) visitors.emplace_back(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
  }
}

/// False: the visitor is gone.
bool KernelTimes::serve(int fd) {
  std::array<char, 16384> bytes;
  alignas(cmsghdr) std::array<char, 256> stamps;
  iovec room{bytes.data(), bytes.size()};
  msghdr message{};
  message.msg_iov = &room, message.msg_iovlen = 1;
  message.msg_control = stamps.data(), message.msg_controllen = stamps.size();
  const ssize_t size = ::recvmsg(fd, &message, MSG_DONTWAIT);
  if (size <= 0) return size < 0 && errno == EAGAIN;
  EXPECT_TRUE(std::string_view(bytes.data(), static_cast<std::size_t>(size)).ends_with("\r\n\r\n"));
  {
    const std::lock_guard lock(mutex_);
    times_.push_back(stamp_of(message));
  }
  return ::send(fd, kAnswer.data(), kAnswer.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(kAnswer.size());
}

}  // namespace penstock::trial
