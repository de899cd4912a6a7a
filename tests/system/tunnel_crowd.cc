// SPDX-License-Identifier: Apache-2.0
// Both ends of many tunnels, over epoll. Each side does all it can whenever something has changed for it.
#include "system/tunnel_crowd.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <stdexcept>

namespace penstock::trial {

namespace {
constexpr std::size_t kPiece = 16 * 1024;
constexpr std::string_view kEndOfHead = "\r\n\r\n";

enum class Heard { something, nothing_yet, end };

Heard hear(const Socket& socket, std::string& into) {
  std::array<char, kPiece> bytes;
  const auto size = ::recv(socket.fd(), bytes.data(), bytes.size(), MSG_DONTWAIT);
  if (size > 0) into.append(bytes.data(), static_cast<std::size_t>(size));
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return Heard::nothing_yet;
  return size > 0 ? Heard::something : Heard::end;
}

/// What the kernel takes at once is taken off; false: the peer is gone.
bool say(const Socket& socket, std::string& bytes) {
  if (bytes.empty()) return true;
  const auto size = ::send(socket.fd(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (size < 0) return errno == EAGAIN || errno == EINTR;
  bytes.erase(0, static_cast<std::size_t>(size));
  return true;
}
}  // namespace

struct Crowd::Side {
  Side(Crowd& its_crowd, Socket its) : crowd(its_crowd), socket(std::move(its)) {}
  virtual ~Side() = default;
  /// Does all that can be done now; false: it has left.
  virtual bool work() = 0;

  bool leave(bool by_reset) {
    if (by_reset) socket.reset();
    return false;
  }

  Crowd& crowd;
  Socket socket;
  std::string to_say;
};

struct Crowd::Caller final : Side {
  Caller(Crowd& its_crowd, Socket its, const CallerPlan& its_plan)
      : Side(its_crowd, std::move(its)), plan(its_plan), gives_up(Clock::now() + plan.patience) {
    to_say = "CONNECT " + plan.host + " HTTP/1.1\r\nHost: " + plan.host + "\r\n\r\n";
    ++crowd.counts_.callers;
  }
  ~Caller() override { --crowd.counts_.callers; }

  bool work() override {
    Heard more = Heard::something;
    while (more == Heard::something) {
      speak();
      more = hear(socket, answer);
      if (!open && !take_head()) return leave(false);
      if (open && !listen()) return false;
    }
    return more != Heard::end;
  }

  /// Says it to the end, or until the kernel takes no more; a proxy that is gone is heard of by hearing.
  void speak() {
    while (say(socket, to_say) && to_say.empty() && (open || plan.early) && said < plan.size) {
      to_say = pattern(plan.offset + said, std::min(kPiece, plan.size - said));
      said += to_say.size();
    }
  }

  /// False: it is no 200.
  bool take_head() {
    const auto end = answer.find(kEndOfHead);
    if (end == std::string::npos) return true;
    open = answer.starts_with("HTTP/1.1 200 ");
    ++(open ? crowd.counts_.opened : crowd.counts_.refused);
    answer.erase(0, end + kEndOfHead.size());
    return open;
  }

  bool listen() {
    if (!is_pattern(plan.offset + heard, answer)) crowd.complain("other bytes than were said, at " + plan.host);
    heard += answer.size();
    answer.clear();
    if (heard > plan.size) crowd.complain("more bytes than were said, at " + plan.host);
    if (heard >= plan.leaves_at && heard < plan.size) {
      ++(heard == 0 ? crowd.counts_.left_open : crowd.counts_.left_midway);
      return leave(plan.resets);
    }
    if (heard < plan.size || content) return true;
    content = true;
    ++crowd.counts_.content;
    return plan.stays || finish();
  }

  /// Who ends its side stays to hear the other's end.
  bool finish() {
    if (plan.resets) return leave(true);
    socket.half_close();
    return true;
  }

  CallerPlan plan;
  Moment gives_up;
  std::string answer;
  std::size_t said = 0, heard = 0;
  bool open = false, content = false;
};

struct Crowd::Call final : Side {
  Call(Crowd& its_crowd, Socket its, const FarPlan& its_plan) : Side(its_crowd, std::move(its)), plan(its_plan) {
    ++crowd.counts_.calls;
  }
  ~Call() override { --crowd.counts_.calls; }

  bool work() override {
    for (;;) {
      if (!say(socket, to_say)) return false;
      if (!to_say.empty()) return true;  // until it is taken nothing is heard: back-pressure
      if (ends) return false;
      if (heard >= plan.leaves_at && !left) {
        left = true;
        ++crowd.counts_.far_left;
        if (!plan.half) return leave(plan.resets);
        socket.half_close();
      }
      const Heard more = hear(socket, to_say);
      if (more == Heard::nothing_yet) return true;
      heard += to_say.size();
      ends = more == Heard::end;
      if (left) to_say.clear();
    }
  }

  FarPlan plan;
  std::size_t heard = 0;
  bool left = false, ends = false;
};

Crowd::Crowd(std::function<FarPlan()> far)
    : far_(std::move(far)), listener_(Socket::listen(4096, &far_port_)), epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
  epoll_event wanted{.events = EPOLLIN, .data = {.fd = listener_.fd()}};
  if (::epoll_ctl(epoll_.fd(), EPOLL_CTL_ADD, listener_.fd(), &wanted) != 0) throw std::runtime_error("epoll_ctl");
}

Crowd::~Crowd() = default;

void Crowd::call(std::uint16_t proxy_port, const CallerPlan& plan) {
  add(std::make_unique<Caller>(*this, Socket::connect(proxy_port), plan));
}

void Crowd::add(std::unique_ptr<Side> side) {
  const int fd = side->socket.fd();
  epoll_event wanted{.events = EPOLLIN | EPOLLOUT | EPOLLET, .data = {.fd = fd}};
  if (::epoll_ctl(epoll_.fd(), EPOLL_CTL_ADD, fd, &wanted) != 0) throw std::runtime_error("epoll_ctl");
  if (side->work()) sides_.emplace(fd, std::move(side));
}

bool Crowd::play_until(const std::function<bool()>& holds, Clock::duration patience) {
  const auto until = Clock::now() + patience;
  while (!holds()) {
    if (Clock::now() > until) return false;
    turn();
  }
  return true;
}

void Crowd::turn() {
  std::array<epoll_event, 512> events;
  const int count = ::epoll_wait(epoll_.fd(), events.data(), static_cast<int>(events.size()), 5);
  for (int at = 0; at < count; ++at) {
    const int fd = events[static_cast<std::size_t>(at)].data.fd;
    if (fd == listener_.fd()) {
      accept();
    } else if (const auto found = sides_.find(fd); found != sides_.end() && !found->second->work()) {
      sides_.erase(found);
    }
  }
  drop_impatient();
}

void Crowd::accept() {
  for (pollfd asked{listener_.fd(), POLLIN, 0}; ::poll(&asked, 1, 0) > 0;) {
    Socket socket(::accept4(listener_.fd(), nullptr, nullptr, SOCK_CLOEXEC));
    if (socket.fd() < 0) return;  // it left again
    add(std::make_unique<Call>(*this, std::move(socket), far_()));
  }
}

void Crowd::drop_impatient() {
  const auto now = Clock::now();
  std::erase_if(sides_, [&](const auto& entry) {
    auto* caller = dynamic_cast<Caller*>(entry.second.get());
    if (!caller || caller->open || caller->gives_up > now) return false;
    ++counts_.impatient;
    caller->leave(caller->plan.resets);
    return true;
  });
}

void Crowd::dismiss() {
  std::erase_if(sides_, [](const auto& entry) {
    auto* caller = dynamic_cast<Caller*>(entry.second.get());
    return caller && caller->plan.stays && !caller->finish();
  });
}

void Crowd::complain(const std::string& what) {
  if (complaint_.empty()) complaint_ = what;
}

namespace {

// When the program begins, so that a test and the daemons that it starts find the same limit whichever tests came
// before.
const std::size_t kOpenFiles = [] {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
  return limit.rlim_cur;
}();

}  // namespace

std::size_t allow_open_files() { return kOpenFiles; }

}  // namespace penstock::trial
