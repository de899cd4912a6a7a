// SPDX-License-Identifier: Apache-2.0
// A DNS server for tests on loopback. It answers as the test says, or stays silent, and counts queries. It serves UDP;
// an answer that is too long for UDP must be asked for over TCP.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace penstock::test {

class NameServer {
 public:
  static constexpr std::uint16_t kA = 1, kAaaa = 28;
  static constexpr int kNoError = 0, kServfail = 2, kNxdomain = 3;

  struct Reply {
    int rcode = kNoError;
    std::vector<std::string> addresses{};  ///< of the queried type
    std::uint32_t ttl = 60;
    std::vector<std::string>
        aliases{};  ///< CNAME chain: the name points to the first, each to the next, the last has the addresses
  };
  /// nullopt: no answer.
  using Answer = std::function<std::optional<Reply>(const std::string& name, std::uint16_t type)>;

  explicit NameServer(Answer answer);
  ~NameServer();
  NameServer(const NameServer&) = delete;

  /// `127.0.0.1:PORT`
  std::string address() const;
  int asked(const std::string& name, std::uint16_t type) const;
  int asked_in_all() const;

 private:
  bool bind_both();
  void live();
  void live_over_tcp();
  /// Takes the query's packet, gives the answer's; nullopt: no answer.
  std::optional<std::string> answer_to(std::string_view packet);

  const Answer answer_;
  int fd_ = -1, tcp_ = -1;
  int caller_ = -1;  // the TCP connection being served, one at a time
  bool stopping_ = false;
  std::uint16_t port_ = 0;
  mutable std::mutex mutex_;
  std::map<std::pair<std::string, std::uint16_t>, int> asked_;
  std::thread thread_, tcp_thread_;
};

}  // namespace penstock::test
