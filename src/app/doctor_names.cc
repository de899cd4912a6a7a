// SPDX-License-Identifier: Apache-2.0
// See doctor_names.h. As much of RFC 1035 as one resolver needs that asks for one name.
#include "app/doctor_names.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>

namespace penstock::app {

namespace {

constexpr std::size_t kHead = 12;
constexpr std::string_view kAddress{"\0\1", 2};
/// An answer: the name of the question, A, IN, TTL 0, four bytes.
constexpr std::string_view kRecord{"\300\14\0\1\0\1\0\0\0\0\0\4\177\0\0\1", 16};

sockaddr_in on_loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return address;
}

/// Empty: the datagram was no question.
std::string answer_to(std::string_view asked) {
  auto end = kHead;
  while (end < asked.size() && asked[end] != '\0') end += static_cast<unsigned char>(asked[end]) + 1U;
  if (end + 5 > asked.size()) return {};
  const auto question = asked.substr(kHead, end + 5 - kHead);
  const bool known = question.substr(question.size() - 4, 2) == kAddress;
  std::string answer(asked.substr(0, 2));
  answer.append("\x81\x80\0\1\0", 5).append(1, known ? '\1' : '\0').append(4, '\0').append(question);
  return known ? answer.append(kRecord) : answer;
}

}  // namespace

DoctorNames::DoctorNames() : fd_(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
  auto here = on_loopback(0);
  socklen_t size = sizeof here;
  auto* plain = reinterpret_cast<sockaddr*>(&here);
  if (bind(fd_, plain, size) != 0 || getsockname(fd_, plain, &size) != 0) return;
  port_ = ntohs(here.sin_port);
  thread_ = std::thread([this] { serve(); });
}

/// An empty datagram to itself ends the thread.
DoctorNames::~DoctorNames() {
  if (thread_.joinable()) {
    const auto here = on_loopback(port_);
    sendto(fd_, "", 0, 0, reinterpret_cast<const sockaddr*>(&here), sizeof here);
    thread_.join();
  }
  close(fd_);
}

std::string DoctorNames::address() const { return port_ == 0 ? "" : "127.0.0.1:" + std::to_string(port_); }

void DoctorNames::serve() const {
  for (std::array<char, 512> bytes{};;) {
    sockaddr_in whom{};
    socklen_t size = sizeof whom;
    auto* plain = reinterpret_cast<sockaddr*>(&whom);
    const ssize_t count = recvfrom(fd_, bytes.data(), bytes.size(), 0, plain, &size);
    if (count == 0) return;
    const auto answer = count < 0 ? "" : answer_to({bytes.data(), static_cast<std::size_t>(count)});
    if (!answer.empty()) sendto(fd_, answer.data(), answer.size(), 0, plain, size);
  }
}

}  // namespace penstock::app
