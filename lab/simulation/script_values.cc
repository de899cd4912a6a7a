// SPDX-License-Identifier: Apache-2.0
// Conversions in both directions.
#include "simulation/script_values.h"

#include <lua.hpp>

#include <cmath>
#include <limits>
#include <string>

namespace penstock::simulation {

namespace {

constexpr int kDeepest = 100;  // nesting of tables

/// What the processor makes of a number that fits no integer: Redis shows the same.
std::int64_t truncated(double number) {
  constexpr double kBeyond = 9223372036854775808.0;
  if (!(number < kBeyond && number >= -kBeyond)) return std::numeric_limits<std::int64_t>::min();
  return static_cast<std::int64_t>(number);
}

std::string_view string_at(lua_State* lua, int place) {
  std::size_t size = 0;
  const char* bytes = lua_tolstring(lua, place, &size);
  return {bytes, size};
}

/// Pushes the field; false: the table on top has no such string, and nothing is pushed.
bool push_field(lua_State* lua, const char* name) {
  lua_pushstring(lua, name);
  lua_rawget(lua, -2);
  if (lua_type(lua, -1) == LUA_TSTRING) return true;
  lua_pop(lua, 1);
  return false;
}

void answer_with_table(lua_State* lua, Answer& answer) {
  if (push_field(lua, "err")) {
    answer.error(string_at(lua, -1));
    return lua_pop(lua, 2);
  }
  if (push_field(lua, "ok")) {
    answer.status(string_at(lua, -1));
    return lua_pop(lua, 2);
  }
  int count = 0;
  for (bool is_there = true; is_there;) {
    lua_rawgeti(lua, -1, count + 1);
    is_there = !lua_isnil(lua, -1);
    lua_pop(lua, 1);
    count += is_there;
  }
  answer.array(static_cast<std::size_t>(count));
  for (int i = 1; i <= count; ++i) {
    lua_rawgeti(lua, -1, i);
    answer_with_value(lua, answer);
  }
  lua_pop(lua, 1);
}

}  // namespace

void AnswerValue::single(const char* name, std::string_view text) {
  lua_createtable(lua_, 0, 1);
  lua_pushlstring(lua_, text.data(), text.size());
  lua_setfield(lua_, -2, name);
  pushed();
}

void AnswerValue::error(std::string_view text) {
  failed_ = open_ == 0;
  single("err", text);
}

void AnswerValue::integer(std::int64_t value) {
  lua_pushnumber(lua_, static_cast<lua_Number>(value));
  pushed();
}

void AnswerValue::text(std::string_view bytes) {
  lua_pushlstring(lua_, bytes.data(), bytes.size());
  pushed();
}

void AnswerValue::nil() {
  lua_pushboolean(lua_, 0);
  pushed();
}

void AnswerValue::array(std::size_t elements) {
  lua_createtable(lua_, static_cast<int>(elements), 0);
  if (elements == 0) return pushed();
  arrays_.at(open_++) = {1, elements};
}

void AnswerValue::pushed() {
  while (open_ > 0) {
    Array& array = arrays_[open_ - 1];
    lua_rawseti(lua_, -2, static_cast<int>(array.next));
    if (array.next++ < array.size) return;
    --open_;
  }
}

void push_error(lua_State* lua, std::string_view text) {
  const bool has_code = text.find(' ') != std::string_view::npos;
  lua_createtable(lua, 0, 3);
  lua_pushstring(lua, has_code ? "" : "ERR ");
  lua_pushlstring(lua, text.data(), text.size());
  lua_concat(lua, 2);
  lua_setfield(lua, -2, "err");
}

void answer_with_value(lua_State* lua, Answer& answer) {
  const int type = lua_type(lua, -1);
  if (type == LUA_TTABLE) {
    if (lua_gettop(lua) < kDeepest && lua_checkstack(lua, 4)) return answer_with_table(lua, answer);
    answer.error("ERR reached lua stack limit");
  } else if (type == LUA_TSTRING) {
    answer.text(string_at(lua, -1));
  } else if (type == LUA_TNUMBER) {
    answer.integer(truncated(lua_tonumber(lua, -1)));
  } else if (type == LUA_TBOOLEAN && lua_toboolean(lua, -1)) {
    answer.integer(1);
  } else {
    answer.nil();
  }
  lua_pop(lua, 1);
}

}  // namespace penstock::simulation
