// SPDX-License-Identifier: Apache-2.0
// What the scripts publish, each process on a channel of its own.
#pragma once

#include <hiredis/hiredis.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "support/redis_server.h"

namespace penstock::lua {

class Post {
 public:
  struct Message {
    std::string who;
    std::string text;
    bool operator==(const Message&) const = default;
  };

  explicit Post(test::RedisServer& server) : connection_(redisConnect("127.0.0.1", server.port())) {}
  ~Post() { redisFree(connection_); }
  Post(const Post&) = delete;
  Post& operator=(const Post&) = delete;

  /// A process hears as long as it is subscribed.
  void subscribe(const std::string& who, bool on = true) {
    redisAppendCommand(connection_, "%s penstock:to:%s", on ? "SUBSCRIBE" : "UNSUBSCRIBE", who.c_str());
    const std::string confirmed = on ? "subscribe" : "unsubscribe";
    while (next() != confirmed) {
    }
  }
  /// Everything published so far.
  std::vector<Message> take() {
    redisAppendCommand(connection_, "PING");
    while (next() != "pong") {
    }
    return std::exchange(heard_, {});
  }

 private:
  std::string next() {
    void* raw = nullptr;
    if (redisGetReply(connection_, &raw) != REDIS_OK) throw std::runtime_error(connection_->errstr);
    const std::unique_ptr<redisReply, void (*)(void*)> reply(static_cast<redisReply*>(raw),
                                                             [](void* object) { freeReplyObject(object); });
    const std::string kind = reply->elements > 0 ? reply->element[0]->str : reply->str;
    if (kind == "message") {
      const std::string channel = reply->element[1]->str;
      heard_.push_back({channel.substr(channel.rfind(':') + 1), reply->element[2]->str});
    }
    return kind;
  }

  redisContext* connection_;
  std::vector<Message> heard_;
};

}  // namespace penstock::lua
