// SPDX-License-Identifier: Apache-2.0
// The scripts of a simulated Redis: a real Lua 5.1 that calls commands, converts values and reports errors as Redis
// does. Scripts are compiled once and found by their digests. One thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text_map.h"
#include "simulation/resp.h"
#include "simulation/script_memory.h"

struct lua_State;

namespace penstock::simulation {

/// The receiver of a script's redis.call.
class ScriptCalls {
 public:
  virtual void call_from_script(Words words, Answer& answer) = 0;

 protected:
  ~ScriptCalls() = default;
};

class RedisScripts {
 public:
  explicit RedisScripts(ScriptCalls& calls);
  RedisScripts(const RedisScripts&) = delete;
  RedisScripts& operator=(const RedisScripts&) = delete;

  /// Returns the digest by which the script can be called. Empty: it does not compile, and an error was answered.
  std::string load(std::string_view script, Answer& answer);
  bool knows(std::string_view digest) const { return find(digest) != functions_.end(); }
  /// False: there is no script with this digest.
  bool run(std::string_view digest, Words keys, Words arguments, Answer& answer);
  void forget_all();
  /// In scripts loaded from now on, `to` replaces `from`: a test of whether the mistake is noticed.
  void mutate(std::string from, std::string to) { mutation_ = {std::move(from), std::move(to)}; }

  /// In the next script the n-th call of a command, from 1 on, fails with this text and is not executed.
  void fail_call(std::size_t n, std::string error) { fails_at_ = n, failure_ = std::move(error); }

 private:
  struct Close {
    void operator()(lua_State* lua) const;
  };

  using Functions = base::TextMap<int>;
  using Digests = base::TextMap<std::string>;
  Functions::const_iterator find(std::string_view digest) const;
  static int call(lua_State* lua);
  static int pcall(lua_State* lua);
  void make_globals();
  bool execute(lua_State* lua);
  bool take_words(lua_State* lua);
  void answer_error(std::string_view digest, Answer& answer);

  ScriptCalls& calls_;
  ScriptMemory memory_;
  std::unique_ptr<lua_State, Close> lua_;
  Functions functions_;                        // by digest: references in Lua's registry
  Digests digests_;                            // of every script ever loaded
  std::vector<std::string_view> words_;        // of the command that the script calls
  std::vector<std::array<char, 40>> numbers_;  // texts of those words that were numbers
  std::pair<std::string, std::string> mutation_;
  std::size_t fails_at_ = 0, called_ = 0;
  std::string failure_;
};

}  // namespace penstock::simulation
