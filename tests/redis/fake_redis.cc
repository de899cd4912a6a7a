// SPDX-License-Identifier: Apache-2.0
// Just enough of Redis' side of RESP2.
#include "redis/fake_redis.h"

#include <cstdlib>
#include <utility>

namespace penstock::redis {

namespace {

std::size_t number_in(const std::string& line) { return std::strtoul(line.c_str() + 1, nullptr, 10); }

}  // namespace

std::string bulk(const std::string& text) { return "$" + std::to_string(text.size()) + "\r\n" + text + "\r\n"; }

Command next_command(test::Socket& peer) {
  const std::string head = peer.read_until("\r\n");
  Command words;
  if (head.empty()) return words;
  for (auto left = number_in(head); left > 0; --left) {
    const auto size = number_in(peer.read_until("\r\n"));
    words.push_back(peer.read(size + 2).substr(0, size));
  }
  return words;
}

test::Origin::Script greeting(std::function<std::string(const Command&, int)> otherwise,
                              std::function<std::string()> self_test) {
  return [otherwise = std::move(otherwise), self_test = std::move(self_test)](test::Origin&, test::Socket& peer,
                                                                              int number) {
    for (Command words = next_command(peer); !words.empty(); words = next_command(peer)) {
      std::string answer;
      if (words[0] == "INFO") {
        answer = bulk("# Server\r\nredis_version:7.0.15\r\nredis_mode:standalone\r\n");
      } else if (words[0] == "SCRIPT") {
        answer = bulk(std::string(40, 'a'));
      } else if (words[0] == "SET" || words[0] == "CLIENT") {
        answer = "+OK\r\n";
      } else if (words[0] == "EVALSHA" && words.size() > 3 && words[3].starts_with("penstock:{probe")) {
        answer = self_test ? self_test() : "*0\r\n";
      } else {
        answer = otherwise(words, number);
      }
      if (!peer.send(answer)) return;
    }
  };
}

}  // namespace penstock::redis
