// SPDX-License-Identifier: Apache-2.0
// The part of RFC 1035 that the tests need.
#include "support/name_server.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace penstock::test {

namespace {
constexpr std::size_t kHeader = 12, kLongestDatagram = 512;

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

std::string record(const std::string& name, std::uint16_t type, std::uint32_t ttl, const std::string& content) {
  return name + two_bytes(type) + two_bytes(1) + two_bytes(ttl >> 16) + two_bytes(ttl & 0xffff) +
         two_bytes(static_cast<unsigned>(content.size())) + content;
}

std::string content_of(std::uint16_t type, const std::string& address) {
  char bytes[16];
  EXPECT_EQ(::inet_pton(type == NameServer::kA ? AF_INET : AF_INET6, address.c_str(), bytes), 1);
  return {bytes, type == NameServer::kA ? 4U : 16U};
}

std::string labels_of(std::string_view name) {
  std::string labels;
  while (!name.empty()) {
    const auto label = name.substr(0, name.find('.'));
    labels += static_cast<char>(label.size()) + std::string(label);
    name.remove_prefix(std::min(label.size() + 1, name.size()));
  }
  return labels + '\0';
}

std::string packet_for(std::string_view asked, const Question& question, const NameServer::Reply& reply) {
  const unsigned flags = 0x8180 | static_cast<unsigned>(reply.rcode);
  std::string packet(asked.substr(0, 2));
  packet +=
      two_bytes(flags) + two_bytes(1) + two_bytes(static_cast<unsigned>(reply.aliases.size() + reply.addresses.size()));
  packet += two_bytes(0) + two_bytes(0);
  packet += asked.substr(kHeader, question.size);
  std::string name = two_bytes(0xc000 | kHeader);
  for (const auto& alias : reply.aliases) {
    constexpr std::uint16_t kCname = 5;
    packet += record(name, kCname, reply.ttl, labels_of(alias));
    name = labels_of(alias);
  }
  for (const auto& address : reply.addresses)
    packet += record(name, question.type, reply.ttl, content_of(question.type, address));
  return packet;
}

/// The query's answer without records and with the truncation bit: the full answer is too long.
std::string truncated(std::string_view asked) {
  std::string packet(asked.substr(0, 2));
  packet += two_bytes(0x8380) + two_bytes(1) + two_bytes(0) + two_bytes(0) + two_bytes(0);
  return packet += asked.substr(kHeader, question_in(asked).size);
}

std::string receive(int fd, std::size_t size) {
  std::string bytes(size, '\0');
  return ::recv(fd, bytes.data(), size, MSG_WAITALL) == static_cast<ssize_t>(size) ? bytes : "";
}

/// Reads a packet that follows its two-byte length; empty at the end of the stream.
std::string receive_packet(int fd) {
  const std::string size = receive(fd, 2);
  if (size.empty()) return {};
  return receive(
      fd, static_cast<std::size_t>(static_cast<unsigned char>(size[0]) << 8 | static_cast<unsigned char>(size[1])));
}
}  // namespace

NameServer::NameServer(Answer answer) : answer_(std::move(answer)) {
  for (int i = 0; i < 100 && !bind_both(); ++i) {
  }
  thread_ = std::thread([this] { live(); });
  tcp_thread_ = std::thread([this] { live_over_tcp(); });
}

/// Binds UDP and TCP to one port. False: the port that is free for one is taken for the other.
bool NameServer::bind_both() {
  for (const int fd : {fd_, tcp_}) {
    if (fd >= 0) ::close(fd);
  }
  fd_ = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  tcp_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* const place = reinterpret_cast<sockaddr*>(&address);
  socklen_t size = sizeof address;
  if (::bind(fd_, place, size) != 0 || ::getsockname(fd_, place, &size) != 0) return false;
  port_ = ntohs(address.sin_port);
  return ::bind(tcp_, place, size) == 0 && ::listen(tcp_, 16) == 0;
}

NameServer::~NameServer() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    for (const int fd : {fd_, tcp_, caller_}) ::shutdown(fd, SHUT_RDWR);  // wakes the readers
  }
  thread_.join();
  tcp_thread_.join();
  ::close(fd_);
  ::close(tcp_);
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

std::optional<std::string> NameServer::answer_to(std::string_view packet) {
  const Question question = question_in(packet);
  {
    const std::lock_guard lock(mutex_);
    ++asked_[{question.name, question.type}];
  }
  const auto reply = answer_(question.name, question.type);
  return reply ? std::optional(packet_for(packet, question, *reply)) : std::nullopt;
}

void NameServer::live() {
  char bytes[1500];
  sockaddr_in from{};
  while (true) {
    socklen_t size = sizeof from;
    const ssize_t got = ::recvfrom(fd_, bytes, sizeof bytes, 0, reinterpret_cast<sockaddr*>(&from), &size);
    if (got < static_cast<ssize_t>(kHeader)) return;
    const std::string_view packet(bytes, static_cast<std::size_t>(got));
    auto answer = answer_to(packet);
    if (!answer) continue;
    if (answer->size() > kLongestDatagram) answer = truncated(packet);
    ::sendto(fd_, answer->data(), answer->size(), 0, reinterpret_cast<sockaddr*>(&from), size);
  }
}

void NameServer::live_over_tcp() {
  while (true) {
    const int caller = ::accept4(tcp_, nullptr, nullptr, SOCK_CLOEXEC);
    {
      const std::lock_guard lock(mutex_);
      caller_ = stopping_ ? -1 : caller;
    }
    if (caller_ < 0) {
      if (caller >= 0) ::close(caller);
      return;
    }
    for (std::string packet; !(packet = receive_packet(caller)).empty();) {
      const auto answer = answer_to(packet);
      if (!answer) continue;
      const std::string sent = two_bytes(static_cast<unsigned>(answer->size())) + *answer;
      if (::send(caller, sent.data(), sent.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(sent.size())) break;
    }
    const std::lock_guard lock(mutex_);
    ::close(std::exchange(caller_, -1));
  }
}

}  // namespace penstock::test
