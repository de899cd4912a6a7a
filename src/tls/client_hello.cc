// SPDX-License-Identifier: Apache-2.0
// See client_hello.h. Collects the message from its records first, because a hello may span several, then parses it
// with a cursor that knows its end. Anything malformed ends the parsing; what was found before stays.
#include "tls/client_hello.h"

#include <algorithm>
#include <utility>

namespace penstock::tls {

namespace {

constexpr std::uint8_t kHandshakeRecord = 22;
constexpr std::uint8_t kClientHello = 1;
constexpr std::size_t kMessageHeader = 4;
constexpr std::size_t kLongestRecord = 16 * 1024;
constexpr std::size_t kLongestText = 255;
constexpr std::size_t kServerName = 0, kHostName = 0, kProtocols = 16;

/// Takes numbers and blocks off the front. Reading past the end empties the cursor and marks it unsound.
class Cursor {
 public:
  explicit Cursor(std::string_view bytes) : rest_(bytes) {}

  std::string_view take(std::size_t size) {
    if (size > rest_.size()) {
      rest_ = {};
      sound_ = false;
      return {};
    }
    const auto taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }
  std::size_t number(std::size_t bytes) {
    std::size_t value = 0;
    for (const char c : take(bytes)) value = value << 8 | static_cast<std::uint8_t>(c);
    return value;
  }
  /// A block preceded by its length, a number of `length_bytes` bytes.
  std::string_view block(std::size_t length_bytes) { return take(number(length_bytes)); }
  bool more() const { return sound_ && !rest_.empty(); }

 private:
  std::string_view rest_;
  bool sound_ = true;
};

bool is_printable(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 0x7f; });
}

std::string server_name(std::string_view extension) {
  Cursor names(Cursor(extension).block(2));
  while (names.more()) {
    const auto type = names.number(1);
    const auto name = names.block(2);
    if (type == kHostName && is_printable(name) && name.size() <= kLongestText) return std::string(name);
  }
  return {};
}

/// RFC 8701 (GREASE): a meaningless name, sent so that servers keep tolerating unknown names.
bool is_grease(std::string_view name) {
  return name.size() == 2 && name[0] == name[1] && (static_cast<std::uint8_t>(name[0]) & 0xf) == 0xa;
}

std::string protocols(std::string_view extension) {
  std::string all;
  Cursor names(Cursor(extension).block(2));
  while (names.more()) {
    const auto name = names.block(1);
    if (!is_printable(name) || is_grease(name) || name.contains(',') || all.size() + name.size() >= kLongestText)
      continue;
    all.append(all.empty() ? "" : ",").append(name);
  }
  return all;
}

}  // namespace

bool ClientHello::feed(std::string_view bytes) {
  while (!over_ && !bytes.empty()) {
    if (record_left_ == 0) {
      header_[header_size_++] = static_cast<std::uint8_t>(bytes.front());
      bytes.remove_prefix(1);
      if (header_[0] != kHandshakeRecord) return end();
      if (header_size_ == header_.size() && !begin_record()) return end();
      continue;
    }
    const auto piece = bytes.substr(0, std::min(record_left_, kMessageHeader + kLongest - message_.size()));
    message_.append(piece);
    record_left_ -= piece.size();
    bytes.remove_prefix(piece.size());
    if (message_.size() < kMessageHeader) continue;
    Cursor message(message_);
    const bool is_hello = message.number(1) == kClientHello;
    const auto size = message.number(3);
    if (!is_hello || size > kLongest) return end();
    if (message_.size() < kMessageHeader + size) continue;
    read_body(message.take(size));
    return end();
  }
  return !over_;
}

bool ClientHello::begin_record() {
  header_size_ = 0;
  record_left_ = static_cast<std::size_t>(header_[3]) << 8 | header_[4];
  return header_[1] == 3 && record_left_ > 0 && record_left_ <= kLongestRecord;
}

bool ClientHello::end() {
  over_ = true;
  std::string().swap(message_);  // frees the memory: a tunnel keeps this object
  return false;
}

void ClientHello::read_body(std::string_view body) {
  Cursor hello(body);
  hello.take(2 + 32);  // version, random
  hello.block(1);      // session
  hello.block(2);      // cipher suites
  hello.block(1);      // compression
  Cursor extensions(hello.block(2));
  while (extensions.more()) {
    const auto type = extensions.number(2);
    const auto content = extensions.block(2);
    if (type == kServerName && sni_.empty()) sni_ = server_name(content);
    if (type == kProtocols && alpn_.empty()) alpn_ = protocols(content);
  }
}

}  // namespace penstock::tls
