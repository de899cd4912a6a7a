// SPDX-License-Identifier: Apache-2.0
// A client's TCP connection to a proxy, as an application would have it.
#pragma once

#include <string>
#include <string_view>

namespace embedding {

class Client {
 public:
  /// `url` as Proxy::url() gives it.
  explicit Client(std::string_view url);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  void send(std::string_view bytes);
  /// Whatever comes until the other side closes.
  std::string rest();
  /// At least one byte.
  std::string some();
  /// Closes with RST.
  void vanish();

 private:
  int socket_;
};

/// One GET in absolute form, the connection closed after it; gives the whole answer.
std::string get(std::string_view proxy, std::string_view url);

}  // namespace embedding
