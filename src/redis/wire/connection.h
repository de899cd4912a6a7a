// SPDX-License-Identifier: Apache-2.0
// One connection to Redis, from the look-up of the name to its end: authenticates, checks what kind of server answers,
// sends commands and matches the replies to them in order. Every failure ends the connection for good; its owner makes
// a new one. Only for redis.cc and mailbox.cc.
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

/// A command under way. Its time-out runs from `asked` on; `sent` is when the kernel got it. In µs, by the loop's
/// clock.
struct Call {
  using Done = std::move_only_function<void(const Outcome&, std::int64_t sent)>;
  std::string command;
  Done done;
  std::optional<std::size_t> script;  ///< the script's number, if the command is an EVALSHA
  bool repeated = false;
  std::int64_t asked = 0, sent = 0;
};

/// A command in the format in which Redis reads it (RESP).
std::string command(std::initializer_list<std::string_view> words);
void begin_command(std::string& bytes, std::size_t words);
void add_word(std::string& bytes, std::string_view word);

/// Called from the loop, or from Connection::end().
class ConnectionEvents {
 public:
  /// The host name led to these addresses, one of which is dialled next.
  virtual void on_found(const loop::Addresses& addresses) = 0;
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

class Connection final : WireEvents {
 public:
  enum class For : std::uint8_t { commands, messages };

  /// Begins to connect at once. `attempt` selects which of several addresses is tried first.
  Connection(loop::Loop& loop, loop::Resolver& resolver, Network& network, const RedisConfig& config, For what,
             std::size_t attempt, ConnectionEvents& events);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// To be called once ready. After the end it does nothing.
  void send(Call call);
  void end(Failure why);
  bool ended() const { return ended_; }
  /// Id of the server, valid from on_ready() on; empty: the server does not tell one. It identifies the server's
  /// memory: a Redis that was restarted, or another one behind the same address, has another id.
  std::string_view server_id() const { return server_id_; }
  /// The error reply by which INFO was refused; empty: it was not refused.
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
  std::size_t tried_ = 0;  // of `addresses_`
  std::unique_ptr<Wire> wire_;
  ReplyReader reader_;
  std::string out_;            // commands of this iteration of the loop, not sent yet
  std::size_t unsent_ = 0;     // the last so many of `waiting_` are in `out_`
  std::deque<Call> waiting_;   // calls that wait for their replies
  std::size_t greetings_ = 0;  // the first so many of `waiting_` are our own
  std::string server_id_, no_info_;
  bool asked_twice_ = false;  // INFO, for the server's id
  bool ready_ = false;
  bool ended_ = false;
  std::optional<Failure> failed_;  // to be reported at the end of the iteration
  loop::IterationEnd iteration_end_;
  loop::Timer deadline_;  // of the oldest call; until ready, of everything
};

/// Where Redis is, for people: "host:port" or "unix:path".
std::string place_of(const RedisConfig& config);

}  // namespace penstock::redis
