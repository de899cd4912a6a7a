// SPDX-License-Identifier: Apache-2.0
// Sockets with deadlines and the strict reader.
#include "system/wire.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <stdexcept>
#include <thread>
#include <utility>

namespace penstock::trial {

bool eventually(const std::function<bool()>& condition, Clock::duration patience) {
  const auto until = Clock::now() + patience;
  while (!condition()) {
    if (Clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

bool same_name(std::string_view a, std::string_view b) {
  return a.size() == b.size() && strncasecmp(a.data(), b.data(), a.size()) == 0;
}

std::optional<std::string> Lines::find(std::string_view name) const {
  for (const auto& line : *this) {
    if (same_name(line.name, name)) return line.value;
  }
  return std::nullopt;
}

std::vector<std::string> Lines::all(std::string_view name) const {
  std::vector<std::string> values;
  for (const auto& line : *this) {
    if (same_name(line.name, name)) values.push_back(line.value);
  }
  return values;
}

namespace {

constexpr std::size_t kPatternPeriod = 65521;  // a prime: no block size of anybody divides it

/// Two periods of a fixed pseudo-random text, so that any piece of one period is contiguous.
const std::string& endless() {
  static const std::string bytes = [] {
    std::string text(2 * kPatternPeriod, '\0');
    std::uint32_t state = 0x9e3779b9;
    for (std::size_t i = 0; i < kPatternPeriod; ++i) {
      state ^= state << 13, state ^= state >> 17, state ^= state << 5;
      text[i] = text[i + kPatternPeriod] = static_cast<char>(state >> 24);
    }
    return text;
  }();
  return bytes;
}

bool wait_for(int fd, short what, Moment until) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
    if (left <= 0) return false;
    pollfd poll_fd{fd, what, 0};
    const int count = ::poll(&poll_fd, 1, static_cast<int>(left));
    if (count > 0) return true;
    if (count < 0 && errno != EINTR) return false;
  }
}

sockaddr_in address_of(std::uint16_t port, const char* address = "127.0.0.1") {
  sockaddr_in out{};
  out.sin_family = AF_INET;
  out.sin_port = htons(port);
  inet_pton(AF_INET, address, &out.sin_addr);
  return out;
}

Socket open_socket() {
  Socket socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (socket.fd() < 0) throw std::runtime_error("socket: " + std::string(strerror(errno)));
  return socket;
}

}  // namespace

std::string pattern(std::uint64_t offset, std::size_t size) {
  std::string out;
  out.reserve(size);
  while (out.size() < size) {
    const std::size_t at = (offset + out.size()) % kPatternPeriod;
    out.append(endless(), at, std::min(kPatternPeriod, size - out.size()));
  }
  return out;
}

bool is_pattern(std::uint64_t offset, std::string_view bytes) {
  for (std::size_t done = 0; done < bytes.size();) {
    const std::size_t at = (offset + done) % kPatternPeriod, size = std::min(kPatternPeriod, bytes.size() - done);
    if (bytes.substr(done, size) != std::string_view(endless()).substr(at, size)) return false;
    done += size;
  }
  return true;
}

Socket Socket::connect(std::uint16_t port, int receive_buffer, const char* from) {
  Socket socket = open_socket();
  if (receive_buffer) setsockopt(socket.fd(), SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
  const int on = 1;
  setsockopt(socket.fd(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (from) {
    const auto here = address_of(0, from);
    if (::bind(socket.fd(), reinterpret_cast<const sockaddr*>(&here), sizeof here) != 0)
      throw std::runtime_error("bind: " + std::string(strerror(errno)));
  }
  const auto there = address_of(port);
  if (::connect(socket.fd(), reinterpret_cast<const sockaddr*>(&there), sizeof there) != 0)
    throw std::runtime_error("connect to port " + std::to_string(port) + ": " + strerror(errno));
  return socket;
}

Socket Socket::listen(int backlog, std::uint16_t* port, int receive_buffer, const char* at) {
  Socket socket = open_socket();
  if (receive_buffer) setsockopt(socket.fd(), SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
  auto here = address_of(0, at);
  socklen_t size = sizeof here;
  auto* address = reinterpret_cast<sockaddr*>(&here);
  if (::bind(socket.fd(), address, size) != 0 || ::listen(socket.fd(), backlog) != 0)
    throw std::runtime_error("listen: " + std::string(strerror(errno)));
  getsockname(socket.fd(), address, &size);
  *port = ntohs(here.sin_port);
  return socket;
}

bool Socket::put_on(const test::Wrap& wrap) {
  layer_ = wrap(fd_);
  if (layer_) ::fcntl(fd_, F_SETFL, O_NONBLOCK);
  return layer_ != nullptr;
}

void Socket::close() {
  if (layer_) layer_->say_goodbye();
  cut();
}

void Socket::cut() {
  layer_.reset();
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

void Socket::reset() {
  const linger at_once{1, 0};
  setsockopt(fd_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  cut();
}

void Socket::half_close() {
  if (layer_) layer_->say_goodbye();
  ::shutdown(fd_, SHUT_WR);
}
void Socket::shut_down() { ::shutdown(fd_, SHUT_RDWR); }

ssize_t Socket::try_send(std::string_view bytes) {
  if (layer_) return layer_->send(bytes.data(), bytes.size());
  return ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

ssize_t Socket::try_receive(char* room, std::size_t space) {
  return layer_ ? layer_->receive(room, space) : ::recv(fd_, room, space, MSG_DONTWAIT);
}

std::size_t Socket::send(std::string_view bytes, Moment until) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const auto count = try_send(bytes.substr(done));
    if (count > 0) {
      done += static_cast<std::size_t>(count);
    } else if (errno != EAGAIN && errno != EINTR) {
      break;
    } else if (!wait_for(fd_, POLLOUT, until)) {
      break;
    }
  }
  return done;
}

bool Socket::receive(std::string& into, Moment until) {
  char bytes[64 * 1024];
  while ((layer_ && layer_->has_more()) || wait_for(fd_, POLLIN, until)) {
    const auto count = try_receive(bytes, sizeof bytes);
    if (count > 0) {
      into.append(bytes, static_cast<std::size_t>(count));
      return true;
    }
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    ended_ = true;
    was_reset_ = was_reset_ || count < 0;  // the kernel tells it once
    return false;
  }
  return false;
}

bool Reader::complain(std::string text) {
  if (complaint.empty()) complaint = std::move(text);
  return false;
}

std::string Reader::head(Moment until) {
  std::size_t end;
  while ((end = buffer_.find("\r\n\r\n")) == std::string::npos) {
    if (!fill(until)) return {};
  }
  std::string head = buffer_.substr(0, end + 4);
  buffer_.erase(0, end + 4);
  return head;
}

namespace {

bool is_token(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) || std::strchr("!#$%&'*+-.^_`|~", c) != nullptr;
  });
}

bool is_field_text(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](unsigned char c) { return c == '\t' || (c >= 0x20 && c != 0x7f); });
}

std::optional<Line> split_field(std::string_view line) {
  const auto colon = line.find(':');
  if (colon == std::string_view::npos || !is_token(line.substr(0, colon))) return std::nullopt;
  std::string_view value = line.substr(colon + 1);
  if (!is_field_text(value)) return std::nullopt;
  while (!value.empty() && (value.front() == ' ' || value.front() == '\t')) value.remove_prefix(1);
  while (!value.empty() && (value.back() == ' ' || value.back() == '\t')) value.remove_suffix(1);
  return Line{std::string(line.substr(0, colon)), std::string(value)};
}

}  // namespace

bool Reader::split(std::string_view head, std::string& first, Lines& fields) {
  bool is_first = true;
  while (head != "\r\n") {
    const auto end = head.find("\r\n");
    const auto line = head.substr(0, end);
    head.remove_prefix(end + 2);
    if (std::exchange(is_first, false)) {
      if (!is_field_text(line)) return complain("a control in the first line");
      first = line;
    } else if (auto field = split_field(line)) {
      fields.push_back(*std::move(field));
    } else {
      return complain("a bad field line: " + std::string(line));
    }
  }
  return true;
}

bool Reader::body(Framing framing, const Sink& sink, Lines& trailers) {
  switch (framing.kind) {
    case Framing::Kind::none: return true;
    case Framing::Kind::length: return counted(framing.length, sink);
    case Framing::Kind::chunked: return chunks(sink, trailers);
    case Framing::Kind::to_end: break;
  }
  do {
    sink(std::exchange(buffer_, {}));
  } while (fill());
  return socket_.ended() && !socket_.was_reset();
}

bool Reader::counted(std::uint64_t length, const Sink& sink) {
  while (length > 0) {
    if (buffer_.empty() && !fill()) return false;
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(length, buffer_.size()));
    sink(std::string_view(buffer_).substr(0, size));
    buffer_.erase(0, size);
    length -= size;
  }
  return true;
}

std::optional<std::string> Reader::line() {
  std::size_t end;
  while ((end = buffer_.find("\r\n")) == std::string::npos) {
    if (!fill()) return std::nullopt;
  }
  std::string line = buffer_.substr(0, end);
  buffer_.erase(0, end + 2);
  return line;
}

bool Reader::chunks(const Sink& sink, Lines& trailers) {
  for (;;) {
    const auto size_line = line();
    if (!size_line) return false;
    std::uint64_t size = 0;
    const char* end = size_line->data() + size_line->size();
    const auto [stop, error] = std::from_chars(size_line->data(), end, size, 16);
    if (error != std::errc{} || stop != end) return complain("a bad chunk size: " + *size_line);
    if (size == 0) break;
    if (!counted(size, sink)) return false;
    const auto after = line();
    if (!after) return false;
    if (!after->empty()) return complain("bytes after a chunk: " + *after);
  }
  for (;;) {
    const auto text = line();
    if (!text) return false;
    if (text->empty()) return true;
    auto field = split_field(*text);
    if (!field) return complain("a bad trailer line: " + *text);
    trailers.push_back(*std::move(field));
  }
}

}  // namespace penstock::trial
