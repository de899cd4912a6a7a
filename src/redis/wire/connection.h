// SPDX-License-Identifier: Apache-2.0
// One connection to Redis, over a stream that is connected: greets, sends commands and matches the replies to them in
// order. What the stream is over, TCP, a Unix socket or TLS, does not matter here. Every failure ends the connection
// for good; its owner makes a new one. Only for client/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "loop/iteration_end.h"
#include "loop/loop.h"
#include "loop/stream.h"
#include "loop/timer.h"
#include "penstock/config.h"
#include "redis/wire/failure.h"
#include "redis/wire/greeting.h"
#include "redis/wire/reply.h"

namespace penstock::redis {

/// A command under way. Its time-out runs from `sent` on, when the kernel got it: if this process is held up before
/// that, the server is not to blame. In µs, by the loop's clock.
struct Call {
  using Done = std::move_only_function<void(const Outcome&, std::int64_t sent)>;
  std::string command;
  Done done;
  std::optional<std::size_t> script;  ///< the script's number, if the command is an EVALSHA
  bool repeated = false;
  bool asking = false;  ///< the node is to answer though the slot is still on its way to it
  std::int64_t sent = 0;
};

/// Called from the loop, or from Connection::end().
class ConnectionEvents {
 public:
  /// Authentication succeeded, and the server is a Redis that we can use.
  virtual void on_ready() = 0;
  virtual void on_reply(Call call, const Outcome& outcome) = 0;
  /// From a channel that this connection has subscribed to.
  virtual void on_message(std::string_view payload) = 0;
  /// `unanswered` calls will have no reply. The Connection must not be destroyed in here, only later.
  virtual void on_ended(const Failure& why, std::deque<Call> unanswered) = 0;

 protected:
  ~ConnectionEvents() = default;
};

class Connection final : loop::StreamEvents {
 public:
  enum class For : std::uint8_t { commands, messages };

  /// Greets from the next iteration's end on, and ends if it is not ready at `ready_until`. `config` and `events` must
  /// outlive it.
  Connection(loop::Loop& loop, std::unique_ptr<loop::Stream> stream, const RedisConfig& config, For what,
             std::int64_t ready_until, ConnectionEvents& events, Greeting::Server server = Greeting::Server::redis);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// To be called once ready. After the end it does nothing.
  void send(Call call);
  void end(const Failure& why);
  bool ended() const { return !stream_; }
  const Greeting& greeting() const { return greeting_; }

 private:
  void on_read(std::string_view bytes) override;
  void on_gone() override;
  void on_drained() override {}

  enum class Late : std::uint8_t { no, suspected, reading };

  void queue(Call call);
  void take(const Reply& reply);
  void greeted(const Outcome& outcome);
  void send_out();
  void look_at_clock();
  void judge_lateness();
  void stop_clock();
  std::int64_t due() const;

  loop::Loop& loop_;
  const RedisConfig& config_;
  const For for_;
  const std::int64_t ready_until_;
  ConnectionEvents& events_;

  std::unique_ptr<loop::Stream> stream_;  // null: ended
  Greeting greeting_;
  ReplyReader reader_;
  std::string out_;           // commands of this iteration of the loop, not sent yet
  std::size_t unsent_ = 0;    // the last so many of `waiting_` are in `out_`
  std::deque<Call> waiting_;  // calls that wait for their replies
  bool ready_ = false;
  loop::IterationEnd sending_;
  loop::Timer deadline_;  // of the oldest call; until ready, of everything
  Late late_ = Late::no;
  std::int64_t late_since_ = 0;  // when the deadline was found to have passed
  loop::IterationEnd judging_;
};

}  // namespace penstock::redis
