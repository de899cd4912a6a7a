// SPDX-License-Identifier: Apache-2.0
// See admin_client.h.
#include "app/admin_client.h"

#include <netdb.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <iostream>

#include "app/settings.h"
#include "base/unique_fd.h"

namespace penstock::app {

namespace {

using namespace std::chrono_literals;

constexpr auto kStepPatience = 2s;  // for each step
constexpr std::size_t kEnough = 64 * 1024 * 1024;

std::unexpected<std::string> last_error() {
  const bool timed_out = errno == EAGAIN || errno == EINPROGRESS;
  return std::unexpected(std::string(timed_out ? "no answer in time" : std::strerror(errno)));
}

std::expected<void, std::string> connect_to(const base::UniqueFd& socket, const addrinfo& address) {
  const timeval patience{.tv_sec = kStepPatience.count(), .tv_usec = 0};
  setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);  // connect() obeys it too
  setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  if (connect(socket.get(), address.ai_addr, address.ai_addrlen) != 0) return last_error();
  return {};
}

/// All that comes until the other side is done.
std::expected<std::string, std::string> round_trip(const base::UniqueFd& socket, const std::string& request) {
  if (send(socket.get(), request.data(), request.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(request.size())) {
    return last_error();
  }
  std::string answer;
  char bytes[4096];
  while (answer.size() < kEnough) {
    const ssize_t count = recv(socket.get(), bytes, sizeof bytes, 0);
    if (count < 0) return last_error();
    if (count == 0) break;
    answer.append(bytes, static_cast<std::size_t>(count));
  }
  return answer;
}

AdminAnswer parsed(const std::string& answer) {
  const auto body = answer.find("\r\n\r\n");
  return {.status = answer.substr(0, answer.find("\r\n")),
          .body = body == std::string::npos ? "" : answer.substr(body + 4)};
}

/// 127.0.0.1:9128, or the same as a URL.
std::optional<Endpoint> endpoint_of(std::string url) {
  constexpr std::string_view kScheme = "http://";
  if (url.starts_with(kScheme)) url.erase(0, kScheme.size());
  if (url.ends_with('/')) url.pop_back();
  return parse_endpoint(url);
}

}  // namespace

std::expected<Endpoint, std::string> admin_of(const Config& config) {
  if (config.admin.listen.port != 0) return from_here(config.admin.listen);
  return std::unexpected("admin.listen has port 0, so its real port is known to nobody here");
}

std::optional<Endpoint> wanted_admin(const std::string& config_file, const std::string& given) {
  if (!given.empty()) {
    const auto endpoint = endpoint_of(given);
    if (!endpoint) complain("--admin " + given + ": write it as in http://127.0.0.1:9128");
    return endpoint;
  }
  const auto config = settings(config_file);
  if (!config) return std::nullopt;
  const auto admin = admin_of(*config);
  if (!admin) return complain(admin.error() + ": say --admin URL"), std::nullopt;
  return *admin;
}

std::expected<AdminAnswer, std::string> ask_admin(const Endpoint& admin, const std::string& path,
                                                  const std::string& method) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  addrinfo* address = nullptr;
  if (getaddrinfo(admin.address.c_str(), std::to_string(admin.port).c_str(), &hints, &address) != 0) {
    return std::unexpected("not an address");
  }
  const base::UniqueFd socket{::socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  const auto connected = connect_to(socket, *address);
  freeaddrinfo(address);
  if (!connected) return std::unexpected(connected.error());
  const auto answer = round_trip(
      socket, method + " " + path + " HTTP/1.1\r\nHost: " + to_string(admin) + "\r\nConnection: close\r\n\r\n");
  if (!answer) return std::unexpected(answer.error());
  return parsed(*answer);
}

int print_answer(const Endpoint& admin, const std::string& path, const std::string& method) {
  const auto answer = ask_admin(admin, path, method);
  const auto where = to_string(admin) + ": ";
  if (!answer) return complain(where + answer.error() + "; is this the admin port of a running Penstock?");
  if (answer->fine()) return std::cout << answer->body, 0;
  const auto why = answer->body.substr(0, answer->body.find_first_of("\r\n"));
  return complain(where + (why.empty() ? answer->status : why));
}

}  // namespace penstock::app
