// SPDX-License-Identifier: Apache-2.0
// Sockets for the bench tools, over the system calls.
#include "bench/sockets.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace penstock::bench {
namespace {

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

}  // namespace

void die(const std::string& why) {
  std::fprintf(stderr, "bench: %s\n", why.c_str());
  std::exit(1);
}

void die_of_errno(const std::string& what) { die(what + ": " + std::strerror(errno)); }

void allow_open_files(std::size_t wanted) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) die_of_errno("getrlimit");
  if (limit.rlim_max < wanted) die("needs " + std::to_string(wanted) + " open files, the hard limit is lower");
  limit.rlim_cur = limit.rlim_max;
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0) die_of_errno("setrlimit");
}

int listen_on_loopback() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) die_of_errno("socket");
  const sockaddr_in address = loopback(0);
  if (bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) die_of_errno("bind");
  if (listen(fd, SOMAXCONN) != 0) die_of_errno("listen");
  return fd;
}

std::uint16_t port_of(int listener) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  if (getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size) != 0) die_of_errno("getsockname");
  return ntohs(address.sin_port);
}

int connect_to_loopback(std::uint16_t port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) die_of_errno("socket");
  const sockaddr_in address = loopback(port);
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) die_of_errno("connect");
  set_no_delay(fd);
  if (fcntl(fd, F_SETFL, O_NONBLOCK) != 0) die_of_errno("fcntl");
  return fd;
}

void set_no_delay(int fd) {
  const int on = 1;
  if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) != 0) die_of_errno("setsockopt");
}

int new_epoll() {
  const int epoll = epoll_create1(EPOLL_CLOEXEC);
  if (epoll < 0) die_of_errno("epoll_create1");
  return epoll;
}

void watch(int epoll, int fd, std::uint64_t tag) {
  epoll_event wanted{};
  wanted.events = EPOLLIN;
  wanted.data.u64 = tag;
  if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &wanted) != 0) die_of_errno("epoll_ctl");
}

bool send_whole(int fd, std::string_view bytes) {
  const ssize_t sent = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  if (sent == static_cast<ssize_t>(bytes.size())) return true;
  if (sent < 0 && (errno == EPIPE || errno == ECONNRESET)) return false;
  if (sent < 0) die_of_errno("send");
  die("a socket's buffer is full: the peer does not read");
}

}  // namespace penstock::bench
