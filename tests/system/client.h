// SPDX-License-Identifier: Apache-2.0
// A client that sends exactly the bytes it is told to, at the moment it is told to, and reads answers strictly. It
// knows nothing of proxies, and repairs nothing.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "system/wire.h"

namespace penstock::trial {

struct Reply {
  int status = 0;  ///< 0: no head came
  std::string reason, head;
  Lines fields;
  std::string body;
  Lines trailers;
  bool whole = false;  ///< to its very end, by its framing
  bool chunked = false;
  std::vector<Reply> interims;  ///< the 1xx answers before it, heads only
  std::string complaint;        ///< what was malformed about it

  std::string field(std::string_view name) const { return fields.find(name).value_or(""); }
  /// The `error` of `Proxy-Status`; empty: none.
  std::string error() const;
};

class Client {
 public:
  explicit Client(std::uint16_t port, int receive_buffer = 0, const char* from = nullptr)
      : socket_(Socket::connect(port, receive_buffer, from)), reader_(socket_) {}
  Client(const Client&) = delete;

  /// Sends all; false where the peer is gone. Patience covers the whole.
  bool send(std::string_view bytes) { return socket_.send(bytes) == bytes.size(); }
  /// Sends as much as goes before nothing has moved for `pause`; how much went.
  std::size_t send_until_stuck(std::string_view bytes, Clock::duration pause);

  /// The next final answer. `bodyless`: it answers a HEAD. A `sink` gets the body instead of Reply::body.
  Reply reply(bool bodyless = false, const Reader::Sink& sink = {});
  /// The next head, 1xx included, without a body.
  Reply head();

  /// Everything up to the peer's end, or until patience is over.
  std::string rest();
  /// Whether the peer ends the connection without another byte.
  bool closed() { return rest().empty() && socket_.ended(); }
  bool was_reset() const { return socket_.was_reset(); }
  /// Whether a byte, or the end, comes within that time.
  bool hears_within(Clock::duration time);

  void half_close() { socket_.half_close(); }
  void reset() { socket_.reset(); }
  void close() { socket_.close(); }
  Socket& socket() { return socket_; }

 private:
  bool read_head(Reply& reply);

  Socket socket_;
  Reader reader_;
};

/// `GET URL HTTP/1.1` with its Host and, where given, more lines (each with its CRLF).
std::string get(std::string_view url, std::string_view lines = "");
/// A request of any method with a Content-Length body.
std::string with_body(std::string_view method, std::string_view url, std::string_view body,
                      std::string_view lines = "");
/// `host:port` of an http URL.
std::string authority_of(std::string_view url);
/// One chunk, its size in hexadecimal.
std::string chunk(std::string_view bytes);

}  // namespace penstock::trial
