// SPDX-License-Identifier: Apache-2.0
// Both ends of tunnels.
#include "system/tunnels.h"

#include <poll.h>
#include <sys/socket.h>

namespace penstock::trial {

namespace {

bool readable(int fd, int milliseconds) {
  pollfd asked{.fd = fd, .events = POLLIN, .revents = 0};
  return ::poll(&asked, 1, milliseconds) > 0;
}

constexpr int kPatienceMs = std::chrono::milliseconds(kPatience).count();

}  // namespace

Socket FarEnd::accept() {
  const int fd = readable(listener_.fd(), kPatienceMs) ? ::accept4(listener_.fd(), nullptr, nullptr, SOCK_CLOEXEC) : -1;
  EXPECT_GE(fd, 0) << "nobody came";
  return Socket(fd);
}

bool FarEnd::has_caller() const { return readable(listener_.fd(), 0); }

std::string Near::take(std::size_t size) {
  std::string& buffer = reader.buffer();
  while (buffer.size() < size && reader.fill()) {
  }
  std::string taken = buffer.substr(0, size);
  buffer.erase(0, taken.size());
  return taken;
}

std::string Near::rest() {
  while (reader.fill()) {
  }
  return std::exchange(reader.buffer(), {});
}

Reply Near::reply() {
  Reply reply;
  reply.head = reader.head();
  std::string first;
  reader.split(reply.head, first, reply.fields);
  if (first.size() > 12) reply.status = std::stoi(first.substr(9, 3)), reply.reason = first.substr(13);
  const auto length = reply.fields.find("content-length");
  if (length) reply.body = take(std::stoul(*length));
  return reply;
}

std::string without_rest(std::string_view settings) {
  constexpr std::string_view kTimeouts = "timeouts: { ";
  std::string all(settings);
  if (all.find("tunnelRest") != all.npos) return all;
  const auto there = all.find(kTimeouts);
  if (there == all.npos) return all + ", " + std::string(kTimeouts) + "tunnelRest: 0s }";
  return all.insert(there + kTimeouts.size(), "tunnelRest: 0s, ");
}

Tunnels::Tunnels(std::string_view settings, std::string_view grace)
    : daemon({.yaml = "defaults: { " + without_rest(settings) + " }\naccess: { connectPorts: [" +
                      std::to_string(far.port()) + "] }\n",
              .grace = std::string(grace)}) {}

std::unique_ptr<Near> Tunnels::ask(std::string_view more) const {
  auto client = std::make_unique<Near>(Socket::connect(daemon.port()));
  EXPECT_TRUE(client->send(connect() + std::string(more)));
  return client;
}

Tunnels::Pair Tunnels::open() {
  Pair pair{.client = ask(), .upstream = std::make_unique<Near>(far.accept())};
  EXPECT_EQ(pair.client->reply().status, 200);
  return pair;
}

}  // namespace penstock::trial
