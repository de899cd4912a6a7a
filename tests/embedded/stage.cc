// SPDX-License-Identifier: Apache-2.0
// Nothing here waits without end.
#include "stage.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace embedding {

penstock::Config quiet() {
  penstock::Config config;
  config.proxy.listen.port = 0;
  config.admin.listen.port = 0;
  config.log.events = "off";
  config.log.level = penstock::LogLevel::off;
  return config;
}

penstock::Config narrow(int max_concurrent, std::size_t max_pending) {
  penstock::Config config = quiet();
  penstock::UpstreamConfig upstream{.name = "origin", .match = {{.host = "127.0.0.1"}}};
  upstream.settings.max_concurrent = max_concurrent;
  upstream.settings.queue.max_pending = max_pending;
  config.upstreams.push_back(upstream);
  return config;
}

FutureAnswer submit(penstock::Proxy& proxy, penstock::Request request) {
  std::promise<Answer> promise;
  auto answer = promise.get_future();
  proxy.submit(std::move(request),
               [promise = std::move(promise)](Answer&& given) mutable { promise.set_value(std::move(given)); });
  return answer;
}

std::optional<Answer> wait_for(FutureAnswer& answer) {
  if (answer.wait_for(kPatience) != std::future_status::ready) return std::nullopt;
  return answer.get();
}

std::string field(const penstock::Response& response, std::string_view name) {
  const auto found = std::ranges::find(response.fields, name, &penstock::Field::name);
  return found == response.fields.end() ? std::string() : found->value;
}

penstock::test::Socket connect(std::string_view url) {
  penstock::test::Socket socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int port = std::stoi(std::string(url.substr(url.rfind(':') + 1)));
  const sockaddr_in there{.sin_family = AF_INET,
                          .sin_port = htons(static_cast<std::uint16_t>(port)),
                          .sin_addr = {htonl(INADDR_LOOPBACK)},
                          .sin_zero = {}};
  if (::connect(socket.fd(), reinterpret_cast<const sockaddr*>(&there), sizeof there) != 0)
    throw std::runtime_error("cannot connect to " + std::string(url));
  return socket;
}

std::string get(std::string_view proxy, std::string_view url) {
  auto client = connect(proxy);
  client.send("GET " + std::string(url) + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  return client.read_to_end();
}

bool eventually(const std::function<bool()>& condition) {
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

void Observer::observe(penstock::Proxy& proxy) {
  proxy.observe([this](const penstock::Event& event) {
    const std::lock_guard lock(mutex_);
    told_.push_back({.kind = event.kind,
                     .outcome = event.outcome,
                     .id = std::string(event.id),
                     .upstream = std::string(event.upstream),
                     .path = std::string(event.path),
                     .refusal = std::string(event.refusal),
                     .at = event.at,
                     .status = event.status,
                     .attempts = event.attempts,
                     .pending = event.pending,
                     .in_flight = event.in_flight,
                     .thread = std::this_thread::get_id()});
    more_.notify_all();
  });
}

std::vector<Told> Observer::all() const {
  const std::lock_guard lock(mutex_);
  return told_;
}

std::size_t Observer::count(penstock::EventKind kind) const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::size_t>(std::ranges::count(told_, kind, &Told::kind));
}

bool Observer::wait_for(penstock::EventKind kind, std::size_t how_many) {
  std::unique_lock lock(mutex_);
  return more_.wait_for(lock, kPatience, [&] {
    return static_cast<std::size_t>(std::ranges::count(told_, kind, &Told::kind)) >= how_many;
  });
}

}  // namespace embedding
