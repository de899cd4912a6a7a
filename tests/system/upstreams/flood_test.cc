// SPDX-License-Identifier: Apache-2.0
// Upstreams that answer without end, to clients that read nothing, by every way through Penstock: whatever they say,
// others are served as ever, and what is kept for each stays small.
#include <gmock/gmock.h>
#include <sys/socket.h>

#include <atomic>
#include <list>

#include "system/beside.h"
#include "system/ways.h"

namespace penstock::trial {
namespace {

/// What follows `begins` again and again.
struct Flood {
  std::string name, begins, goes_on;
};

void PrintTo(const Flood& flood, std::ostream* out) { *out << flood.name; }

const std::string kOkHead = "HTTP/1.1 200 OK\r\n";

std::vector<Flood> floods() {
  const std::string kib(1024, 'x');
  std::string fields;
  for (int i = 0; i < 190; ++i) fields += "Link: <" + kib + ">\r\n";
  return {{"empty_lines", "", "\r\n"},
          {"interims", "", "HTTP/1.1 103 Early Hints\r\nLink: </style.css>\r\n\r\n"},
          {"large_interims", "", "HTTP/1.1 103 Early Hints\r\n" + fields + "\r\n"},
          {"a_status_line", "HTTP/1.1 200 ", kib},
          {"fields", kOkHead, "Link: </style.css>\r\n"},
          {"a_field", kOkHead + "Link: ", kib},
          {"folds", kOkHead + "Link: a\r\n", " b\r\n"},
          {"a_body", kOkHead + "\r\n", kib},
          {"a_body_with_a_length", kOkHead + "Content-Length: 999999999999\r\n\r\n", kib},
          {"a_chunk_extension", kOkHead + "Transfer-Encoding: chunked\r\n\r\n1;", kib},
          {"chunks", kOkHead + "Transfer-Encoding: chunked\r\n\r\n", "1\r\nx\r\n"},
          {"a_chunk_size", kOkHead + "Transfer-Encoding: chunked\r\n\r\n", "0"},
          {"trailers", kOkHead + "Transfer-Encoding: chunked\r\n\r\n0\r\n", "X: y\r\n"},
          {"answers", "", kOkHead + "Content-Length: 2\r\n\r\nok"}};
}

/// Says it on each connection behind the first bytes of a request, until it is cut off or nobody takes any more of it.
void flood_by(Socket& peer, const Flood& flood) {
  const int room = 32 * 1024;  // so that it is soon seen whether anybody takes what is said
  ::setsockopt(peer.fd(), SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
  std::string heard;
  if (!peer.receive(heard, Clock::now() + kPatience)) return;
  constexpr std::size_t kAtOnce = 32 * 1024;
  std::string bytes = flood.begins;
  for (std::size_t at = 0;; at = bytes.size()) {
    bytes.erase(0, at);
    while (bytes.size() < kAtOnce) bytes += flood.goes_on;
    if (peer.send(bytes, Clock::now() + kStuck) < bytes.size()) return;
  }
}

class FloodingUpstream : public testing::TestWithParam<std::tuple<Way, Flood>> {};

TEST_P(FloodingUpstream, delays_nobody_and_is_kept_small) {
  const auto& [way, flood] = GetParam();
  std::atomic<int> at_rest = 0;
  WayStage stage(way, [&](Socket& peer) {
    flood_by(peer, flood);
    ++at_rest;
  });
  Beside beside(stage.daemon);
  std::list<std::unique_ptr<TlsCaller>> clients;
  for (const int crowd : {kFew, kMany}) {
    while (clients.size() < static_cast<std::size_t>(crowd)) {
      clients.push_back(stage.client());
      clients.back()->send(stage.head() + "\r\n");
    }
    beside.ask_until(crowd, [&] { return at_rest == crowd; });
  }
}

/// A tunnel looks at no byte, and so all are the same to it.
std::vector<std::tuple<Way, Flood>> by_every_way() {
  std::vector<std::tuple<Way, Flood>> all;
  for (const Way way : kWays) {
    for (const Flood& flood : floods()) {
      if (way != Way::tunnel || flood.name == "a_body") all.emplace_back(way, flood);
    }
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Each, FloodingUpstream, testing::ValuesIn(by_every_way()), [](const auto& info) {
  return name_of(std::get<Way>(info.param)) + "_" + std::get<Flood>(info.param).name;
});

}  // namespace
}  // namespace penstock::trial
