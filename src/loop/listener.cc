// SPDX-License-Identifier: Apache-2.0
// Binds a socket or adopts one that listens, and calls accept4() itself, since libuv closes connections for which it
// has no descriptor.
#include "loop/listener.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "loop/fd_limit.h"
#include "loop/socket_address.h"

namespace penstock::loop {

namespace {
constexpr int kBacklog = 4096;
constexpr int kMostPerIteration = 64;  // so that other work is not held up
constexpr std::int64_t kPause = 100'000;

bool are_short(int error) { return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM; }

/// True for errors of a single connection, which are no reason to pause; the network errors are those of accept(2).
bool is_of_connection(int error) {
  switch (error) {
    case EINTR:
    case ECONNABORTED:
    case ENETDOWN:
    case EPROTO:
    case ENOPROTOOPT:
    case EHOSTDOWN:
    case ENONET:
    case EHOSTUNREACH:
    case EOPNOTSUPP:
    case ENETUNREACH: return true;
    default: return false;
  }
}

bool bind_and_listen(int fd, const sockaddr_storage& address) {
  const int yes = 1, no = 0;
  const bool v6 = address.ss_family == AF_INET6;
  const socklen_t size = v6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (v6) ::setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
  return ::bind(fd, reinterpret_cast<const sockaddr*>(&address), size) == 0 && ::listen(fd, kBacklog) == 0;
}

int option(int fd, int name) {
  int value = -1;
  socklen_t size = sizeof value;
  return ::getsockopt(fd, SOL_SOCKET, name, &value, &size) == 0 ? value : -1;
}

Endpoint bound_of(int fd) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  return endpoint_of(reinterpret_cast<const sockaddr*>(&address));
}

/// Why a socket cannot be the one that listens at `address` (port 0: any); empty: it can.
std::string why_not_adopt(int fd, const sockaddr_storage& address) {
  const int family = option(fd, SO_DOMAIN);
  if (family != AF_INET && family != AF_INET6) return "what was handed over is no socket of IP";
  if (option(fd, SO_TYPE) != SOCK_STREAM) return "the socket handed over is not for TCP";
  if (option(fd, SO_ACCEPTCONN) != 1) return "the socket handed over does not listen";
  const Endpoint there = bound_of(fd);
  auto wanted = endpoint_of(reinterpret_cast<const sockaddr*>(&address));
  if (wanted.port == 0) wanted.port = there.port;
  return there == wanted ? "" : "the socket handed over listens on " + to_string(there);
}

std::expected<int, std::string> bound_socket(const sockaddr_storage& address) {
  const int fd = ::socket(address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd >= 0 && bind_and_listen(fd, address)) return fd;
  const int error = uv_translate_sys_error(errno);
  if (fd >= 0) ::close(fd);
  return std::unexpected(uv_strerror(error));
}

std::expected<int, std::string> adopted_socket(int fd, const sockaddr_storage& address) {
  auto why_not = why_not_adopt(fd, address);
  if (why_not.empty()) return fd;
  ::close(fd);
  return std::unexpected(std::move(why_not));
}

std::expected<int, std::string> listening_socket(const Endpoint& endpoint, int handed_over) {
  sockaddr_storage address{};
  const int error = socket_address_of(endpoint, address);
  if (error == 0) return handed_over < 0 ? bound_socket(address) : adopted_socket(handed_over, address);
  if (handed_over >= 0) ::close(handed_over);
  return std::unexpected(uv_strerror(error));
}
}  // namespace

std::expected<std::unique_ptr<Listener>, Error> Listener::listen(Loop& loop, const Endpoint& endpoint,
                                                                 OnConnection on_connection, std::size_t spare,
                                                                 int handed_over) {
  const auto fd = listening_socket(endpoint, handed_over);
  if (fd) return std::unique_ptr<Listener>(new Listener(loop, *fd, std::move(on_connection), spare));
  return std::unexpected(Error{.token = {}, .message = "cannot listen on " + to_string(endpoint) + ": " + fd.error()});
}

Listener::Listener(Loop& loop, int fd, OnConnection on_connection, std::size_t spare)
    : loop_(loop),
      fd_(fd),
      poll_(new uv_poll_t),
      on_connection_(std::move(on_connection)),
      spare_(spare),
      looking_(loop, [this] { look_again(); }) {
  uv_poll_init(loop.uv(), poll_, fd);
  poll_->data = this;
  measure();
  go_on();
}

Listener::~Listener() {
  uv_close(reinterpret_cast<uv_handle_t*>(poll_),
           [](uv_handle_t* closed) { delete reinterpret_cast<uv_poll_t*>(closed); });
  ::close(fd_);
}

void Listener::go_on() {
  uv_poll_start(poll_, UV_READABLE,
                [](uv_poll_t* poll, int, int) { static_cast<Listener*>(poll->data)->accept_some(); });
}

void Listener::accept_some() {
  const auto self = self_.ref();
  for (int i = 0; i < kMostPerIteration && accept_one() && self; ++i) {
  }
}

/// True if more may be accepted. The kernel gives the lowest free descriptor: at the ceiling, all below are taken.
bool Listener::accept_one() {
  const int fd = ::accept4(fd_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (fd < 0) return goes_on_after(errno);
  const bool last = fd >= ceiling_;
  if (last) run_short();
  if (auto stream = Stream::adopt(loop_, fd)) on_connection_(std::move(stream));
  return !last;
}

/// Pauses on unknown errors too: a socket that has become invalid would be readable without end.
bool Listener::goes_on_after(int error) {
  if (is_of_connection(error)) return true;
  if (are_short(error)) {
    run_short();
  } else if (error != EAGAIN) {
    pause();
  }
  return false;
}

void Listener::run_short() {
  ++pauses_;
  pause();
}

void Listener::pause() {
  uv_poll_stop(poll_);
  looking_.start(loop_.now() + kPause);
}

void Listener::look_again() {
  measure();
  const int lowest = ::fcntl(fd_, F_DUPFD_CLOEXEC, 0);
  if (lowest >= 0) ::close(lowest);
  if (lowest >= 0 && lowest < ceiling_) return go_on();
  looking_.start(loop_.now() + kPause);
}

void Listener::measure() {
  const int all = most_open_files();
  ceiling_ = all - std::min(static_cast<int>(spare_), all / 4);
}

Endpoint Listener::bound() const { return bound_of(fd_); }

}  // namespace penstock::loop
