// SPDX-License-Identifier: Apache-2.0
// A request is a head, and as many bytes as its Content-Length says.
#include "origin.h"

namespace embedding {

namespace {
constexpr std::size_t kBig = 16 * 1024 * 1024;

std::size_t content_length(const std::string& head) {
  const auto at = head.find("\r\nContent-Length: ");
  return at == std::string::npos ? 0 : std::stoul(head.substr(at + 18));
}

std::string whole(const std::string& body) {
  return "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}
}  // namespace

std::string Origin::echo(std::string_view method, std::string_view path, std::string_view body) {
  return std::string(method).append(" ").append(path).append(" ").append(body);
}

void Origin::serve(penstock::test::Socket& peer) {
  for (std::string head; (head = peer.read_until("\r\n\r\n")).ends_with("\r\n\r\n");) {
    const auto path_at = head.find(' ') + 1;
    const std::string path = head.substr(path_at, head.find(' ', path_at) - path_at);
    const std::string body = peer.read(content_length(head));
    if (!peer.send(answer(head.substr(0, path_at - 1), path, body)) || path.starts_with("/half")) return;
  }
}

std::string Origin::answer(std::string_view method, std::string_view path, std::string_view body) {
  ++requests_;
  if (path.starts_with("/half")) return "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nten bytes.";
  if (path.starts_with("/big")) return whole(std::string(kBig, 'b'));
  if (path.starts_with("/hold")) {
    const std::size_t held = ++held_;
    for (auto most = most_held_.load(); most < held && !most_held_.compare_exchange_weak(most, held);) {
    }
    origin_.wait_for_release();
    --held_;
  }
  return whole(echo(method, path, body));
}

}  // namespace embedding
