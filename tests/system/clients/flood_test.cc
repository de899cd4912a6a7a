// SPDX-License-Identifier: Apache-2.0
// Clients that say without end what HTTP lets them say, or a byte at a time, and read no answer, by every way through
// Penstock: whatever they say, others are served as ever, and what is kept for each stays small.
#include <gmock/gmock.h>

#include <atomic>
#include <list>
#include <thread>

#include "system/beside.h"
#include "system/tunnels.h"
#include "system/ways.h"

namespace penstock::trial {
namespace {

/// What a client says behind the head of a request, which the way makes: `lines`, and then `goes_on` again and again.
struct Said {
  std::string name, method, lines, goes_on;
  std::size_t at_once = 16 * 1024;
  std::size_t most = 512 * 1024;
  bool ends = false;  ///< its own side of the connection, behind all of that
};

void PrintTo(const Said& said, std::ostream* out) { *out << said.name; }

const std::string kInChunks = "Transfer-Encoding: chunked\r\n\r\n";

std::vector<Said> all_that_is_said() {
  const std::string kib(1024, 'x');
  return {{"fields", "GET", "", "X: y\r\n"},
          {"a_field", "GET", "X: ", kib},
          {"folds", "GET", "X: a\r\n", " b\r\n"},
          {"a_body", "POST", "Content-Length: 999999999\r\n\r\n", kib},
          {"a_body_that_ends_too_soon", "POST", "Content-Length: 999999999\r\n\r\n", kib, 16 * 1024, 64 * 1024, true},
          {"a_body_byte_by_byte", "POST", "Content-Length: 100000\r\n\r\n", "x", 1, 300},
          {"a_head_byte_by_byte", "GET", "X: ", "x", 1, 300},
          {"chunks", "POST", kInChunks, "1\r\nx\r\n"},
          {"a_chunk_size", "POST", kInChunks, "0"},
          {"a_chunk_extension", "POST", kInChunks + "1;", kib},
          {"trailers", "POST", kInChunks + "0\r\n", "X: y\r\n"},
          {"what_is_no_request", "GET", "\r\n", kib},
          {"half_a_request_and_its_end", "GET", "X: ", "x", 1, 1, true},
          {"a_request_and_its_end", "GET", "\r\n", "", 0, 0, true},
          {"bytes_behind_a_switch", "GET", "X-Switch: yes\r\n\r\n", kib}};
}

/// A server that reads all, and answers at each empty line.
void answer_all(Socket& peer) {
  const std::string ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
  const std::string other = "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n";
  for (std::string heard; peer.receive(heard, Clock::now() + kPatience);) {
    std::size_t at = 0;
    for (std::size_t end; (end = heard.find("\r\n\r\n", at)) != std::string::npos; at = end + 4) {
      const bool switches = std::string_view(heard).substr(at, end - at).find("X-Switch") != std::string_view::npos;
      peer.send(switches ? other : ok, Clock::now() + kStuck);
    }
    heard.erase(0, std::max(at, heard.size() - std::min<std::size_t>(heard.size(), 256)));
  }
}

/// Until all is said, it is cut off, or nobody takes any more of it.
void say(Client& client, std::string bytes, const Said& said) {
  std::string next = said.goes_on;
  while (!next.empty() && next.size() < said.at_once) next += said.goes_on;
  for (std::size_t sent = 0; !bytes.empty(); bytes = next) {
    if (client.socket().send(bytes, Clock::now() + kStuck) < bytes.size()) return;
    sent += bytes.size();
    if (sent >= said.most) break;
    if (said.at_once == 1) std::this_thread::sleep_for(500us);  // each byte by itself
  }
  if (said.ends) client.half_close();
}

/// Has both crowds say something, each client in a thread of its own.
void let_say(Beside& beside, const std::function<std::unique_ptr<TlsCaller>()>& make,
             const std::function<void(Client& client)>& speak) {
  std::list<std::unique_ptr<TlsCaller>> clients;
  for (const int crowd : {kFew, kMany}) {
    std::atomic<int> at_rest = static_cast<int>(clients.size());
    std::list<std::jthread> threads;
    while (clients.size() < static_cast<std::size_t>(crowd)) {
      threads.emplace_back([&, client = clients.emplace_back(make()).get()] {
        speak(*client);
        ++at_rest;
      });
    }
    beside.ask_until(crowd, [&] { return at_rest == crowd; });
  }
}

class FloodingClient : public testing::TestWithParam<std::tuple<Way, Said>> {};

TEST_P(FloodingClient, delays_nobody_and_is_kept_small) {
  const auto& [way, said] = GetParam();
  WayStage stage(way, answer_all);
  Beside beside(stage.daemon);
  let_say(
      beside, [&] { return stage.client(); },
      [&](Client& client) { say(client, stage.head(said.method) + said.lines, said); });
}

/// The tunnel looks at no byte, and so all are the same to it.
std::vector<std::tuple<Way, Said>> said_by_every_way() {
  std::vector<std::tuple<Way, Said>> all;
  for (const Way way : kWays) {
    for (const Said& said : all_that_is_said()) {
      if (way != Way::tunnel || said.name == "a_body" || said.ends) all.emplace_back(way, said);
    }
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Each, FloodingClient, testing::ValuesIn(said_by_every_way()), [](const auto& info) {
  return name_of(std::get<Way>(info.param)) + "_" + std::get<Said>(info.param).name;
});

/// What begins no head.
class FloodOfRequests : public testing::TestWithParam<Way> {};

TEST_P(FloodOfRequests, whose_answers_are_not_read_delays_nobody_and_is_kept_small) {
  WayStage stage(GetParam(), answer_all);
  Beside beside(stage.daemon);
  const Said said{"requests", "", "", stage.head() + "\r\n"};
  let_say(
      beside, [&] { return stage.client(); }, [&](Client& client) { say(client, said.goes_on, said); });
}

TEST_P(FloodOfRequests, of_empty_lines_delays_nobody_and_is_kept_small) {
  WayStage stage(GetParam(), answer_all);
  Beside beside(stage.daemon);
  const Said said{"empty_lines", "", "", "\r\n"};
  let_say(
      beside, [&] { return stage.client(); }, [&](Client& client) { say(client, said.goes_on, said); });
}

TEST_P(FloodOfRequests, of_one_request_line_delays_nobody_and_is_kept_small) {
  WayStage stage(GetParam(), answer_all);
  Beside beside(stage.daemon);
  const Said said{"a_request_line", "", "", std::string(1024, 'x')};
  const std::string head = stage.head(), begin = head.substr(0, head.find(" HTTP/1.1"));
  let_say(
      beside, [&] { return stage.client(); }, [&](Client& client) { say(client, begin, said); });
}

INSTANTIATE_TEST_SUITE_P(Each, FloodOfRequests, testing::Values(Way::plain, Way::upgrade, Way::intercept, Way::gateway),
                         [](const auto& info) { return name_of(info.param); });

TEST(FloodBehindAConnect, that_nobody_answers_delays_nobody_and_is_kept_small) {
  const Silent nobody;
  Daemon daemon({.yaml = "access: { connectPorts: [" + std::to_string(nobody.port) + "] }\n"});
  Beside beside(daemon);
  const std::string host = "127.0.0.1:" + std::to_string(nobody.port);
  const Said said{"bytes", "", "", std::string(1024, 'x')};
  let_say(
      beside, [&] { return std::make_unique<TlsCaller>(daemon.port(), test::Shaking{}); },
      [&](Client& client) { say(client, "CONNECT " + host + " HTTP/1.1\r\nHost: " + host + "\r\n\r\n", said); });
}

}  // namespace
}  // namespace penstock::trial
