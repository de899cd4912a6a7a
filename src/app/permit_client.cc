// SPDX-License-Identifier: Apache-2.0
// See permit_client.h.
#include "app/permit_client.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>

#include "base/percent.h"
#include "http/credentials.h"
#include "penstock/duration.h"

namespace penstock::app {

namespace {

constexpr std::size_t kLongestAnswerHead = 64 * 1024;
constexpr std::string_view kEndOfHead = "\r\n\r\n";

using namespace std::chrono_literals;

constexpr Duration kConnectPatience = 5s;
constexpr Duration kAnswerPatience = 5s;  // beyond the longest wait that was asked for

std::string words_of_errno() {
  const bool timed_out = errno == EAGAIN || errno == EINPROGRESS;
  return timed_out ? "no answer in time" : std::strerror(errno);
}

/// Zero: none.
void set_timeout(const base::UniqueFd& socket, int option, Duration timeout) {
  const timeval value{.tv_sec = timeout.count() / 1'000'000, .tv_usec = timeout.count() % 1'000'000};
  setsockopt(socket.get(), SOL_SOCKET, option, &value, sizeof value);
}

/// Keep-alive detects a proxy that vanishes silently, while we wait and while the command runs.
void notice_vanished_proxy(const base::UniqueFd& socket) {
  const auto set = [&](int level, int option, int value) {
    setsockopt(socket.get(), level, option, &value, sizeof value);
  };
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 2);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 1);
  set(IPPROTO_TCP, TCP_KEEPCNT, 3);
}

/// Inherited by the command, which so holds the permit too, and never one of its standard streams.
base::UniqueFd inheritable(const base::UniqueFd& socket) {
  constexpr int kBehindStandardStreams = 3;
  return base::UniqueFd{fcntl(socket.get(), F_DUPFD, kBehindStandardStreams)};
}

std::expected<base::UniqueFd, std::string> connected_to(const ProxyAddress& proxy) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int error = getaddrinfo(proxy.host.c_str(), proxy.port.c_str(), &hints, &found); error != 0)
    return std::unexpected(gai_strerror(error));
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> addresses(found, freeaddrinfo);
  std::string why;
  for (const auto* one = addresses.get(); one; one = one->ai_next) {
    const base::UniqueFd socket{::socket(one->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    set_timeout(socket, SO_SNDTIMEO, kConnectPatience);  // connect() obeys it too
    if (socket && connect(socket.get(), one->ai_addr, one->ai_addrlen) == 0) {
      notice_vanished_proxy(socket);
      if (auto copy = inheritable(socket)) return copy;
    }
    why = words_of_errno();
  }
  return std::unexpected(why);
}

std::string request_for(const ProxyAddress& proxy, const PermitAsk& ask) {
  const bool v6 = proxy.host.contains(':');
  std::string request = "GET /@" + ask.upstream + " HTTP/1.1\r\nHost: " + (v6 ? "[" + proxy.host + "]" : proxy.host) +
                        ":" + proxy.port + "\r\nConnection: close\r\nPenstock-Permit: hold\r\n";
  const auto add = [&request](std::string_view name, const std::string& value) {
    if (!value.empty()) request.append(name).append(": ").append(value).append("\r\n");
  };
  add("Proxy-Authorization", proxy.credentials.empty() ? "" : "Basic " + proxy.credentials);
  add("Penstock-Weight", ask.weight);
  add("Penstock-Max-Wait", ask.max_wait);
  add("Penstock-Group", ask.group);
  return request + "\r\n";
}

/// The answer up to the end of its head; of one that breaks off, what came. The error is a time-out or the like.
std::expected<std::string, std::string> head_of_answer(const base::UniqueFd& socket) {
  std::string answer;
  char bytes[4096];
  while (!answer.contains(kEndOfHead) && answer.size() < kLongestAnswerHead) {
    const ssize_t count = recv(socket.get(), bytes, sizeof bytes, 0);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return std::unexpected(words_of_errno());
    if (count == 0) break;
    answer.append(bytes, static_cast<std::size_t>(count));
  }
  return answer.substr(0, answer.find(kEndOfHead));
}

/// "503 Penstock: db queue full, retry in 7s" of a status line; empty: it is none.
std::string_view status_in(std::string_view head) {
  const auto line = head.substr(0, head.find("\r\n"));
  return line.starts_with("HTTP/1.") && line.size() > 9 ? line.substr(9) : std::string_view();
}

NoPermit refusal_in(std::string_view head) {
  constexpr std::string_view kOurs = "Penstock: ";
  const auto status = status_in(head);
  if (status.empty()) return {.why = "the connection ended without an answer"};
  const bool may_retry = status.starts_with("503") || status.starts_with("429");
  auto why = status.substr(std::min(std::size_t{4}, status.size()));
  if (why.starts_with(kOurs)) why.remove_prefix(kOurs.size());
  return {.why = std::string(why.empty() ? status : why), .may_retry = may_retry};
}

}  // namespace

std::optional<ProxyAddress> parse_proxy(std::string_view url) {
  constexpr std::string_view kScheme = "http://";
  if (!url.starts_with(kScheme)) return std::nullopt;
  url.remove_prefix(kScheme.size());
  if (url.ends_with('/')) url.remove_suffix(1);
  ProxyAddress proxy{.host = {}, .port = "3128", .credentials = {}};
  if (const auto at = url.rfind('@'); at != std::string_view::npos) {
    const auto decoded = base::percent_decoded(url.substr(0, at));
    if (!decoded) return std::nullopt;
    proxy.credentials = http::encode_basic(*decoded);
    url.remove_prefix(at + 1);
  }
  const auto bracket = url.starts_with('[') ? url.find(']') : 0;
  const auto colon = url.find(':', std::min(bracket, url.size()));
  if (colon != std::string_view::npos) proxy.port = url.substr(colon + 1);
  auto host = url.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  proxy.host = host;
  const bool is_port =
      !proxy.port.empty() && std::ranges::all_of(proxy.port, [](char c) { return c >= '0' && c <= '9'; });
  const bool is_host =
      !host.empty() && std::ranges::none_of(host, [](char c) { return c <= ' ' || c == '/' || c == '['; });
  return is_port && is_host ? std::optional(proxy) : std::nullopt;
}

std::expected<base::UniqueFd, NoPermit> ask_for_permit(const ProxyAddress& proxy, const PermitAsk& ask) {
  const std::string place = proxy.host + ":" + proxy.port;
  auto socket = connected_to(proxy);
  if (!socket) return std::unexpected(NoPermit{.why = "no Penstock at " + place + ": " + socket.error()});
  const auto request = request_for(proxy, ask);
  if (send(socket->get(), request.data(), request.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(request.size()))
    return std::unexpected(NoPermit{.why = place + ": " + words_of_errno()});
  if (const auto max_wait = parse_duration(ask.max_wait))
    set_timeout(*socket, SO_RCVTIMEO, *max_wait + kAnswerPatience);
  const auto head = head_of_answer(*socket);
  if (!head) return std::unexpected(NoPermit{.why = place + ": " + head.error(), .may_retry = true});
  if (!status_in(*head).starts_with("200 ")) return std::unexpected(refusal_in(*head));
  if (!head->contains("\r\nPenstock-Permit: "))
    return std::unexpected(NoPermit{.why = place + " answers, but gives no permit: is it Penstock?"});
  set_timeout(*socket, SO_RCVTIMEO, 0s);
  return *std::move(socket);
}

}  // namespace penstock::app
