// SPDX-License-Identifier: Apache-2.0
// One epoll for all watched sockets; libuv polls that epoll's descriptor.
#include "loop/hangup_watcher.h"

#include <sys/epoll.h>
#include <unistd.h>
#include <uv.h>

#include <array>
#include <cstddef>

namespace penstock::loop {

namespace {
constexpr std::size_t kMostAtOnce = 64;  // epoll reports the rest in the next iteration
}

HangupWatcher::HangupWatcher(uv_loop_t* loop) : epoll_(::epoll_create1(EPOLL_CLOEXEC)), poll_(new uv_poll_t) {
  uv_poll_init(loop, poll_, epoll_);
  poll_->data = this;
  uv_poll_start(poll_, UV_READABLE, [](uv_poll_t* poll, int, int) { static_cast<HangupWatcher*>(poll->data)->look(); });
}

void HangupWatcher::close() {
  uv_close(reinterpret_cast<uv_handle_t*>(poll_),
           [](uv_handle_t* closed) { delete reinterpret_cast<uv_poll_t*>(closed); });
  ::close(epoll_);
}

bool HangupWatcher::watch(int fd, Watched& whose) {
  epoll_event leaving{.events = EPOLLRDHUP, .data = {.ptr = &whose}};
  return ::epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &leaving) == 0;
}

void HangupWatcher::unwatch(int fd) { ::epoll_ctl(epoll_, EPOLL_CTL_DEL, fd, nullptr); }

void HangupWatcher::look() {
  std::array<epoll_event, kMostAtOnce> left;
  const int count = ::epoll_wait(epoll_, left.data(), static_cast<int>(left.size()), 0);
  for (int i = 0; i < count; ++i) {
    const auto& one = left[static_cast<std::size_t>(i)];
    static_cast<Watched*>(one.data.ptr)->peer_left((one.events & EPOLLERR) != 0);
  }
}

}  // namespace penstock::loop
