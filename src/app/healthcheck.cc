// SPDX-License-Identifier: Apache-2.0
// `penstock healthcheck`: one small request over plain sockets; a loop and its threads would be too much for it.
#include <netdb.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <expected>

#include "app/commands.h"
#include "app/settings.h"

namespace penstock::app {

namespace {

using namespace std::chrono_literals;

constexpr auto kStepPatience = 2s;  // for each step
constexpr std::size_t kEnough = 64 * 1024;

class Socket {
 public:
  explicit Socket(int fd) : fd_(fd) {}
  ~Socket() {
    if (fd_ >= 0) close(fd_);
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  int fd() const { return fd_; }

 private:
  int fd_;
};

std::unexpected<std::string> last_error() {
  const bool timed_out = errno == EAGAIN || errno == EINPROGRESS;
  return std::unexpected(std::string(timed_out ? "no answer in time" : std::strerror(errno)));
}

std::expected<void, std::string> connect_to(const Socket& socket, const addrinfo& address) {
  const timeval patience{.tv_sec = kStepPatience.count(), .tv_usec = 0};
  setsockopt(socket.fd(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);  // connect() obeys it too
  setsockopt(socket.fd(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  if (connect(socket.fd(), address.ai_addr, address.ai_addrlen) != 0) return last_error();
  return {};
}

std::expected<std::string, std::string> round_trip(const Socket& socket, const std::string& request) {
  if (send(socket.fd(), request.data(), request.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(request.size())) {
    return last_error();
  }
  std::string answer;
  char bytes[4096];
  while (answer.find("\r\n") == std::string::npos && answer.size() < kEnough) {
    const ssize_t count = recv(socket.fd(), bytes, sizeof bytes, 0);
    if (count < 0) return last_error();
    if (count == 0) break;
    answer.append(bytes, static_cast<std::size_t>(count));
  }
  return answer.substr(0, answer.find("\r\n"));
}

// The status line of the answer, or why there is none.
std::expected<std::string, std::string> ask(const Endpoint& admin) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  addrinfo* address = nullptr;
  if (getaddrinfo(admin.address.c_str(), std::to_string(admin.port).c_str(), &hints, &address) != 0) {
    return std::unexpected("not an address");
  }
  const Socket socket{::socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  const auto connected = connect_to(socket, *address);
  freeaddrinfo(address);
  if (!connected) return std::unexpected(connected.error());
  return round_trip(socket, "GET /readyz HTTP/1.1\r\nHost: " + to_string(admin) + "\r\nConnection: close\r\n\r\n");
}

}  // namespace

int healthcheck(const std::string& config_file) {
  const auto config = settings(config_file);
  if (!config) return 1;
  const Endpoint admin = from_here(config->admin.listen);
  if (admin.port == 0) return complain("admin.listen has port 0, so its real port is known to nobody here");
  const auto answer = ask(admin);
  if (!answer) return complain("not ready: " + to_string(admin) + ": " + answer.error());
  return answer->starts_with("HTTP/1.1 200 ") ? 0 : complain("not ready: " + to_string(admin) + " answers " + *answer);
}

}  // namespace penstock::app
