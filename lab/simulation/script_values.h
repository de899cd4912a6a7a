// SPDX-License-Identifier: Apache-2.0
// Converts between Redis' answers and Lua values, as Redis does. Only for redis_scripts.cc.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "simulation/resp.h"

struct lua_State;

namespace penstock::simulation {

/// Pushes an answer as one value.
class AnswerValue final : public Answer {
 public:
  explicit AnswerValue(lua_State* lua) : lua_(lua) {}
  void status(std::string_view text) override { single("ok", text); }
  void error(std::string_view text) override;
  void integer(std::int64_t value) override;
  void text(std::string_view bytes) override;
  void nil() override;
  void nil_array() override { nil(); }
  void array(std::size_t elements) override;
  bool failed() const { return failed_; }

 private:
  struct Array {
    std::size_t next, size;
  };
  void single(const char* name, std::string_view text);
  void pushed();

  lua_State* lua_;
  std::array<Array, 4> arrays_;  // incomplete arrays, the outer ones first
  std::size_t open_ = 0;
  bool failed_ = false;
};

/// Answers with the value on top of the stack, and removes it.
void answer_with_value(lua_State* lua, Answer& answer);
/// {err = …}: a text without a code of its own gets the code ERR.
void push_error(lua_State* lua, std::string_view text);

}  // namespace penstock::simulation
