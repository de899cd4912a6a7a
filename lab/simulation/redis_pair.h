// SPDX-License-Identifier: Apache-2.0
// A real redis-server and the simulated one on one clock, which stands until it is moved. Whatever is sent goes to
// both, and what they answer is compared byte by byte. For tests.
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

/// What a client of the simulated Redis was told.
class Heard final : public RedisServer::Client {
 public:
  void on_bytes(std::string_view some) override { bytes += some; }
  void on_closed() override { closed = true; }
  /// All of it, which is forgotten.
  std::string take() { return std::exchange(bytes, {}); }

  std::string bytes;
  bool closed = false;
};

/// Bytes of a command.
std::string request(const std::vector<std::string>& words);

/// A clock in a file that another process looks at, too.
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

  /// Further connections have numbers from 1 on.
  std::size_t connect();
  /// The answer, if both gave the same; otherwise the test fails, and it is empty.
  std::string run(const std::vector<std::string>& words, std::size_t connection = 0);
  /// Bytes as they are, in pieces; then both must tell so many bytes as the simulated one did, and end the connection
  /// if it did.
  void tell(std::initializer_list<std::string_view> pieces, std::size_t connection);
  /// What came unasked on a connection, alike on both.
  std::string heard(std::size_t connection);

  void pass(std::int64_t microseconds) { clock_.set(clock_.now() + microseconds); }
  std::int64_t now() const { return clock_.now(); }
  RedisServer& model() { return model_; }
  void short_of_memory(bool is_so);
  void as_replica(bool is_so);
  /// Orders that only a real one understands: CONFIG, ACL.
  test::RedisServer& real() { return *real_; }
  /// Whether the same keys have the same values and times to live.
  void compare_keys();

 private:
  struct Ends {
    int fd = -1;
    std::string unread = {};  // of the real one
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
