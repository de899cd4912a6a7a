// SPDX-License-Identifier: Apache-2.0
// A real redis-server and the simulated one on the same clock, which stands still until it is moved. Every command goes
// to both, and their answers are compared byte by byte. For tests.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "simulation/redis_server.h"
#include "support/redis_server.h"

namespace penstock::simulation {

/// What the simulated Redis sent to a client.
class Heard final : public RedisServer::Client {
 public:
  void on_bytes(std::string_view some) override { bytes += some; }
  void on_closed() override { closed = true; }
  /// Returns all bytes and forgets them.
  std::string take() { return std::exchange(bytes, {}); }

  std::string bytes;
  bool closed = false;
};

/// The bytes of a command.
std::string request(const std::vector<std::string>& words);

/// A clock in a file that another process reads too.
class SharedClock {
 public:
  static constexpr std::int64_t kStart = 1'790'000'000'123'456;  // in 2026
  SharedClock();
  ~SharedClock();
  SharedClock(const SharedClock&) = delete;
  SharedClock& operator=(const SharedClock&) = delete;
  std::int64_t now() const { return *now_; }
  void set(std::int64_t now) { *now_ = now; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  volatile std::int64_t* now_;
};

class RedisPair {
 public:
  RedisPair();

  /// Further connections are numbered from 1 on.
  std::size_t connect();
  /// The answer, if both gave the same; otherwise the test fails, and the result is empty.
  std::string run(const std::vector<std::string>& words, std::size_t connection = 0);
  /// Sends bytes as they are, in pieces. Both servers must then answer the same bytes, and the real one must end the
  /// connection if the simulated one did.
  void tell(std::initializer_list<std::string_view> pieces, std::size_t connection);
  /// What came unasked on a connection, the same from both.
  std::string heard(std::size_t connection);

  void pass(std::int64_t microseconds) { clock_.set(clock_.now() + microseconds); }
  std::int64_t now() const { return clock_.now(); }
  RedisServer& model() { return model_; }
  void short_of_memory(bool is_so);
  void as_replica(bool is_so);
  /// For commands that only a real server understands: CONFIG, ACL.
  test::RedisServer& real() { return *real_; }
  /// Checks that both have the same keys with the same values and times to live.
  void compare_keys();

 private:
  struct Ends {
    int fd = -1;
    std::string unread = {};  // from the real server
    RedisServer::Connection model = 0;
    std::unique_ptr<Heard> heard = std::make_unique<Heard>();
    Ends() = default;
    Ends(Ends&&) noexcept;
    ~Ends();
  };
  bool read_more(Ends& ends);
  void compare_value(const RedisServer::Key& key);

  SharedClock clock_;
  std::unique_ptr<test::RedisServer> real_;
  RedisServer model_;
  std::vector<Ends> connections_;
};

}  // namespace penstock::simulation
