// SPDX-License-Identifier: Apache-2.0
// One connection to Redis, from the look-up of the name to its end: says who we are, makes sure of what answers, sends
// commands and matches replies to them in order. Every way of failing ends it, and then it is done for: whoever owns
// it makes another. Only for redis.cc and mailbox.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <expected>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "loop/iteration_end.h"
#include "loop/loop.h"
#include "loop/resolver.h"
#include "loop/timer.h"
#include "penstock/config.h"
#include "redis/wire/failure.h"
#include "redis/wire/network.h"
#include "redis/wire/reply.h"

namespace penstock::redis {

/// An error reply is a Failure here.
using Outcome = std::expected<Reply, Failure>;

/// A command under way. It is due from `asked` on; `sent` is when the kernel got it.
struct Call {
  using Done = std::move_only_function<void(const Outcome&, std::int64_t sent)>;
  std::string command;
  Done done;
  std::optional<std::size_t> script;  ///< of an EVALSHA
  bool repeated = false;
  std::int64_t asked = 0, sent = 0;
};

/// A command as Redis reads it.
std::string command(std::initializer_list<std::string_view> words);
void begin_command(std::string& bytes, std::size_t words);
void add_word(std::string& bytes, std::string_view word);

/// Called from the loop, or from Connection::end().
class ConnectionEvents {
 public:
  /// Its name leads to these, one of which is dialled next.
  virtual void on_found(const loop::Addresses& addresses) = 0;
  /// It was let in, and what answers is a Redis that we can use.
  virtual void on_ready() = 0;
  virtual void on_reply(Call call, const Outcome& outcome) = 0;
  /// From a channel that this connection has subscribed to.
  virtual void on_message(std::string_view payload) = 0;
  /// `unanswered` will have no reply. The Connection may not be destroyed in here, only later.
  virtual void on_ended(const Failure& why, std::deque<Call> unanswered) = 0;

 protected:
  ~ConnectionEvents() = default;
};

class Connection final : WireEvents {
 public:
  enum class For : std::uint8_t { commands, messages };

  /// Begins at once. `attempt` turns to the next of several addresses.
  Connection(loop::Loop& loop, loop::Resolver& resolver, Network& network, const RedisConfig& config, For what,
             std::size_t attempt, ConnectionEvents& events);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// Once ready, and until it has ended.
  void send(Call call);
  void end(Failure why);
  bool ended() const { return ended_; }
  /// Of the server that answers, from on_ready() on. Its memory is that of its id: a Redis that was restarted, or
  /// another one behind the same address, has another. Empty: it does not say.
  std::string_view server_id() const { return server_id_; }
  /// Why INFO was refused; empty: it was not.
  const std::string& no_info() const { return no_info_; }

 private:
  void on_connected() override { greet(); }
  void on_read(std::string_view bytes) override;
  void on_gone(int error) override;

  void find();
  void try_next_address();
  int connect(const std::string& address);
  int connect_to_path();
  void fail(int error);
  void greet();
  void ask_for_info(std::string_view section);
  void informed(const Outcome& outcome);
  void greeted(Call call, const Outcome& outcome);
  void queue(Call call);
  void take(const Reply& reply);
  void end_iteration();
  void look_at_clock();
  std::int64_t due() const;

  loop::Loop& loop_;
  loop::Resolver& resolver_;
  Network& network_;
  const RedisConfig& config_;
  const For for_;
  const std::size_t attempt_;
  const std::int64_t began_;
  ConnectionEvents& events_;

  std::unique_ptr<loop::Resolver::Lookup> lookup_;
  loop::Addresses addresses_;
  std::size_t tried_ = 0;  // of them
  std::unique_ptr<Wire> wire_;
  ReplyReader reader_;
  std::string out_;            // of this turn
  std::size_t unsent_ = 0;     // the last so many of `waiting_` are in `out_`
  std::deque<Call> waiting_;   // for their replies
  std::size_t greetings_ = 0;  // the first so many of `waiting_` are our own
  std::string server_id_, no_info_;
  bool asked_twice_ = false;  // for its id
  bool ready_ = false;
  bool ended_ = false;
  std::optional<Failure> failed_;  // to be told at the turn's end
  loop::IterationEnd iteration_end_;
  loop::Timer deadline_;  // of the oldest call, or of all up to ready
};

/// Where Redis is, for people.
std::string place_of(const RedisConfig& config);

}  // namespace penstock::redis
