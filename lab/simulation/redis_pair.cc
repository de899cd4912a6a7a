// SPDX-License-Identifier: Apache-2.0
// Talks to the real server over sockets, and to the simulated one by calls.
#include "simulation/redis_pair.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <utility>

namespace penstock::simulation {

namespace {

constexpr int kPatience = 10'000;  // milliseconds

/// The size of the first answer in bytes; nullopt: it is incomplete.
std::optional<std::size_t> answer_size(std::string_view bytes) {
  const auto line = bytes.find("\r\n");
  if (line == std::string_view::npos) return std::nullopt;
  std::size_t size = line + 2;
  std::int64_t count = 0;
  std::from_chars(bytes.data() + 1, bytes.data() + line, count);
  if (bytes[0] == '$' && count >= 0) size += static_cast<std::size_t>(count) + 2;
  for (std::int64_t i = 0; bytes[0] == '*' && i < count; ++i) {
    const auto part = answer_size(bytes.substr(std::min(size, bytes.size())));
    if (!part) return std::nullopt;
    size += *part;
  }
  return size <= bytes.size() ? std::optional(size) : std::nullopt;
}

std::string shown(const std::vector<std::string>& words) {
  std::string text;
  for (const auto& word : words) text += word.substr(0, 200) + " ";
  return text;
}

std::unique_ptr<test::RedisServer> start_with_clock(const SharedClock& clock) {
  ::setenv("LD_PRELOAD", PENSTOCK_STOPPED_CLOCK, 1);
  ::setenv("STOPPED_CLOCK", clock.path().c_str(), 1);
  auto server = std::make_unique<test::RedisServer>(std::vector<std::string>{"--enable-debug-command", "yes"});
  ::unsetenv("LD_PRELOAD");
  ::unsetenv("STOPPED_CLOCK");
  return server;
}

int connect_to(const std::string& path) {
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), std::min(path.size(), sizeof address.sun_path - 1));
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    throw std::runtime_error("no connection to " + path);
  }
  return fd;
}

}  // namespace

std::string request(const std::vector<std::string>& words) {
  std::string bytes;
  const std::vector<std::string_view> views(words.begin(), words.end());
  AnswerBytes(bytes).texts(views);
  return bytes;
}

SharedClock::SharedClock() : path_((std::filesystem::temp_directory_path() / "penstock-clock-XXXXXX").string()) {
  const int fd = ::mkstemp(path_.data());
  if (fd < 0 || ::ftruncate(fd, sizeof *now_) != 0) throw std::runtime_error("no file for a clock");
  void* place = ::mmap(nullptr, sizeof *now_, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  ::close(fd);
  if (place == MAP_FAILED) throw std::runtime_error("no memory for a clock");
  now_ = static_cast<volatile std::int64_t*>(place);
  set(kStart);
}

SharedClock::~SharedClock() {
  ::munmap(const_cast<std::int64_t*>(now_), sizeof *now_);
  std::filesystem::remove(path_);
}

RedisPair::Ends::Ends(Ends&& other) noexcept
    : fd(std::exchange(other.fd, -1)),
      unread(std::move(other.unread)),
      model(other.model),
      heard(std::move(other.heard)) {}
RedisPair::Ends::~Ends() {
  if (fd >= 0) ::close(fd);
}

RedisPair::RedisPair() : real_(start_with_clock(clock_)), model_([this] { return clock_.now(); }, "0123456789abcdef") {
  // Redis would drop expired keys at any time; keys that were not looked up become valid again when the clock is set
  // back.
  real_->run({"DEBUG", "SET-ACTIVE-EXPIRE", "0"});
  connect();
}

std::size_t RedisPair::connect() {
  Ends ends;
  ends.fd = connect_to(real_->socket());
  ends.model = model_.connect(*ends.heard);
  connections_.push_back(std::move(ends));
  return connections_.size() - 1;
}

/// False: the server has ended the connection.
bool RedisPair::read_more(Ends& ends) {
  pollfd waits{.fd = ends.fd, .events = POLLIN, .revents = 0};
  if (::poll(&waits, 1, kPatience) != 1) throw std::runtime_error("redis-server does not answer");
  char some[65536];
  const auto size = ::recv(ends.fd, some, sizeof some, 0);
  if (size > 0) ends.unread.append(some, static_cast<std::size_t>(size));
  return size > 0;
}

std::string RedisPair::run(const std::vector<std::string>& words, std::size_t connection) {
  Ends& ends = connections_[connection];
  const std::string bytes = request(words);
  model_.feed(ends.model, bytes);
  const std::string ours = ends.heard->take();
  if (::send(ends.fd, bytes.data(), bytes.size(), MSG_NOSIGNAL) < 0) throw std::runtime_error("redis-server is gone");
  std::optional<std::size_t> size;
  while (!(size = answer_size(ends.unread))) {
    if (!read_more(ends)) throw std::runtime_error("redis-server ended the connection");
  }
  const std::string theirs = ends.unread.substr(0, *size);
  ends.unread.erase(0, *size);
  EXPECT_EQ(ours, theirs) << shown(words);
  return ours == theirs ? ours : std::string();
}

void RedisPair::tell(std::initializer_list<std::string_view> pieces, std::size_t connection) {
  Ends& ends = connections_[connection];
  for (const auto piece : pieces) {
    model_.feed(ends.model, piece);
    ASSERT_EQ(::send(ends.fd, piece.data(), piece.size(), MSG_NOSIGNAL), static_cast<ssize_t>(piece.size()));
  }
  const bool closed = ends.heard->closed;
  heard(connection);
  if (closed) {
    EXPECT_FALSE(read_more(ends)) << "redis-server keeps the connection";
  }
}

std::string RedisPair::heard(std::size_t connection) {
  Ends& ends = connections_[connection];
  const std::string ours = ends.heard->take();
  while (ends.unread.size() < ours.size() && read_more(ends)) {
  }
  EXPECT_EQ(ours, ends.unread);
  ends.unread.clear();
  return ours;
}

void RedisPair::short_of_memory(bool is_so) {
  real_->run({"CONFIG", "SET", "maxmemory", is_so ? "1" : "0"});
  model_.out_of_memory(is_so);
}

/// Makes both a replica of a server that does not answer.
void RedisPair::as_replica(bool is_so) {
  real_->run({"REPLICAOF", is_so ? "127.0.0.1" : "NO", is_so ? "1" : "ONE"});
  model_.read_only(is_so);
}

void RedisPair::compare_keys() {
  std::vector<std::string> theirs;
  for (const auto& key : real_->run({"KEYS", "*"}).items) theirs.push_back(key.text);
  std::ranges::sort(theirs);
  std::vector<std::string> ours;
  const auto keys = model_.keys();
  for (const auto& key : keys) ours.push_back(key.key);
  EXPECT_EQ(ours, theirs);
  for (const auto& key : keys) compare_value(key);
}

void RedisPair::compare_value(const RedisServer::Key& key) {
  run({"TYPE", key.key});
  run({"PTTL", key.key});
  if (key.type == "string") run({"GET", key.key});
  if (key.type == "list") run({"LRANGE", key.key, "0", "-1"});
  if (key.type == "zset") run({"ZRANGE", key.key, "0", "-1", "WITHSCORES"});
  if (key.type == "hash") run({"HGETALL", key.key});
  if (key.type != "set") return;
  std::vector<std::string> members;
  for (const auto& member : real_->run({"SMEMBERS", key.key}).items) members.push_back(member.text);
  std::ranges::sort(members);
  std::string theirs;
  for (const auto& member : members) theirs += (theirs.empty() ? "" : " ") + member;
  EXPECT_EQ(key.text, theirs) << key.key;
}

}  // namespace penstock::simulation
