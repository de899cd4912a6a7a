// SPDX-License-Identifier: Apache-2.0
// Scripts of a simulated Redis: a real Lua 5.1 with Redis' ways of calling commands, converting values and telling
// errors. Scripts are compiled once and known by their digests. One thread.
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

/// What a script's redis.call leads to.
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

  /// The digest by which it is called from now on. Empty: it does not compile, and that was answered.
  std::string load(std::string_view script, Answer& answer);
  bool knows(std::string_view digest) const { return find(digest) != functions_.end(); }
  /// False: it knows none with this digest.
  bool run(std::string_view digest, Words keys, Words arguments, Answer& answer);
  void forget_all();
  /// Scripts that are loaded from now on have the one text in the place of the other: to see who notices.
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
  Functions functions_;                        // by digest: their places in Lua's registry
  Digests digests_;                            // of what was ever loaded
  std::vector<std::string_view> words_;        // of the command that a script calls
  std::vector<std::array<char, 40>> numbers_;  // those of them that were numbers
  std::pair<std::string, std::string> mutation_;
  std::size_t fails_at_ = 0, called_ = 0;
  std::string failure_;
};

}  // namespace penstock::simulation
