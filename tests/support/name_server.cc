// SPDX-License-Identifier: Apache-2.0
// As much of RFC 1035 as it takes.
#include "support/name_server.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string_view>

namespace penstock::test {

namespace {
constexpr std::size_t kHeader = 12;

std::string two_bytes(unsigned value) { return {static_cast<char>(value >> 8), static_cast<char>(value)}; }

struct Question {
  std::string name;
  std::uint16_t type = 0;
  std::size_t size = 0;  // on the wire
};

Question question_in(std::string_view packet) {
  Question question;
  std::size_t at = kHeader;
  for (auto length = static_cast<std::size_t>(packet[at]); length != 0; length = static_cast<std::size_t>(packet[at])) {
    question.name += (question.name.empty() ? "" : ".") + std::string(packet.substr(at + 1, length));
    at += length + 1;
  }
  question.type = static_cast<std::uint16_t>(static_cast<unsigned char>(packet[at + 2]));
  question.size = at + 5 - kHeader;
  return question;
}

std::string record(std::uint16_t type, std::uint32_t ttl, const std::string& address) {
  char bytes[16];
  EXPECT_EQ(::inet_pton(type == NameServer::kA ? AF_INET : AF_INET6, address.c_str(), bytes), 1);
  const unsigned size = type == NameServer::kA ? 4 : 16;
  const std::string name_again = two_bytes(0xc000 | kHeader);
  return name_again + two_bytes(type) + two_bytes(1) + two_bytes(ttl >> 16) + two_bytes(ttl & 0xffff) +
         two_bytes(size) + std::string(bytes, size);
}

std::string packet_for(std::string_view asked, const Question& question, const NameServer::Reply& reply) {
  const unsigned flags = 0x8180 | static_cast<unsigned>(reply.rcode);
  std::string packet(asked.substr(0, 2));
  packet += two_bytes(flags) + two_bytes(1) + two_bytes(static_cast<unsigned>(reply.addresses.size()));
  packet += two_bytes(0) + two_bytes(0);
  packet += asked.substr(kHeader, question.size);
  for (const auto& address : reply.addresses) packet += record(question.type, reply.ttl, address);
  return packet;
}
}  // namespace

NameServer::NameServer(Answer answer)
    : answer_(std::move(answer)), fd_(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::bind(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  socklen_t size = sizeof address;
  ::getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size);
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { live(); });
}

NameServer::~NameServer() {
  ::shutdown(fd_, SHUT_RDWR);  // wakes the reader
  thread_.join();
  ::close(fd_);
}

std::string NameServer::address() const { return "127.0.0.1:" + std::to_string(port_); }

int NameServer::asked(const std::string& name, std::uint16_t type) const {
  const std::lock_guard lock(mutex_);
  const auto found = asked_.find({name, type});
  return found == asked_.end() ? 0 : found->second;
}

int NameServer::asked_in_all() const {
  const std::lock_guard lock(mutex_);
  int all = 0;
  for (const auto& [question, times] : asked_) all += times;
  return all;
}

void NameServer::live() {
  char bytes[1500];
  sockaddr_in from{};
  while (true) {
    socklen_t size = sizeof from;
    const ssize_t got = ::recvfrom(fd_, bytes, sizeof bytes, 0, reinterpret_cast<sockaddr*>(&from), &size);
    if (got < static_cast<ssize_t>(kHeader)) return;
    const std::string_view packet(bytes, static_cast<std::size_t>(got));
    const Question question = question_in(packet);
    {
      const std::lock_guard lock(mutex_);
      ++asked_[{question.name, question.type}];
    }
    const auto reply = answer_(question.name, question.type);
    if (!reply) continue;
    const std::string answer = packet_for(packet, question, *reply);
    ::sendto(fd_, answer.data(), answer.size(), 0, reinterpret_cast<sockaddr*>(&from), size);
  }
}

}  // namespace penstock::test
