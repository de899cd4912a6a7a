// SPDX-License-Identifier: Apache-2.0
// Lua reports errors by longjmp, past all frames in between: so a function that raises an error has nothing to destroy,
// and objects with destructors live in another function that returns before.
#include "simulation/redis_scripts.h"

#include <openssl/evp.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <lua.hpp>

#include "simulation/redis_commands.h"
#include "simulation/script_values.h"

namespace penstock::simulation {

namespace {

constexpr std::size_t kDigestSize = 40;
constexpr int kOnError = 1;  // stack index of the function that is called when a script fails
constexpr int kPause = 120;  // percent of the memory in use at which the collector runs: a small heap stays cached
constexpr double kWholeNumber = 1e15;

std::string digest_of(std::string_view script) {
  unsigned char bytes[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  ::EVP_Digest(script.data(), script.size(), bytes, &size, ::EVP_sha1(), nullptr);
  constexpr char kDigits[] = "0123456789abcdef";
  std::string digest;
  for (unsigned i = 0; i < size; ++i) (digest += kDigits[bytes[i] >> 4]) += kDigits[bytes[i] & 15];
  return digest;
}

/// Turns anything that a script raises into a table that says where it was raised.
int on_error(lua_State* lua) {
  if (!lua_istable(lua, 1)) {
    lua_createtable(lua, 0, 3);
    lua_pushliteral(lua, "ERR ");
    lua_getglobal(lua, "tostring");
    lua_pushvalue(lua, 1);
    lua_call(lua, 1, 1);
    lua_concat(lua, 2);
    lua_setfield(lua, -2, "err");
    lua_replace(lua, 1);
  }
  lua_Debug place;
  for (int level = 1; level <= 2 && lua_getstack(lua, level, &place); ++level) {
    lua_getinfo(lua, "Sl", &place);
    if (*place.what == 'C' && level == 1) continue;
    lua_pushstring(lua, place.source);
    lua_setfield(lua, 1, "source");
    lua_pushinteger(lua, place.currentline);
    lua_setfield(lua, 1, "line");
    break;
  }
  lua_settop(lua, 1);
  return 1;
}

/// As in Redis 7: an error that is a table arrives as its text.
int protected_call(lua_State* lua) {
  luaL_checkany(lua, 1);
  const bool succeeded = lua_pcall(lua, lua_gettop(lua) - 1, LUA_MULTRET, 0) == 0;
  if (!succeeded && lua_istable(lua, -1)) {
    lua_getfield(lua, -1, "err");
    if (lua_isstring(lua, -1)) lua_replace(lua, -2);
  }
  lua_pushboolean(lua, succeeded);
  lua_insert(lua, 1);
  return lua_gettop(lua);
}

int unknown_global(lua_State* lua) {
  return luaL_error(lua, "Script attempted to access nonexistent global variable '%s'", lua_tostring(lua, 2));
}
int new_global(lua_State* lua) { return luaL_error(lua, "Attempt to modify a readonly table"); }

/// True: there is one argument, and it is a text. Otherwise pushes an error as the result, which is returned and not
/// raised.
bool has_one_text(lua_State* lua) {
  if (lua_gettop(lua) == 1 && lua_type(lua, 1) == LUA_TSTRING) return true;
  push_error(lua, "ERR wrong number or type of arguments");
  return false;
}

int error_reply(lua_State* lua) {
  if (!has_one_text(lua)) return 1;
  const char* text = lua_tostring(lua, 1);
  push_error(lua, *text == '-' ? text + 1 : text);
  return 1;
}

int status_reply(lua_State* lua) {
  if (!has_one_text(lua)) return 1;
  lua_createtable(lua, 0, 1);
  lua_pushvalue(lua, 1);
  lua_setfield(lua, -2, "ok");
  return 1;
}

void set_words(lua_State* lua, const char* name, Words words) {
  lua_pushstring(lua, name);
  lua_createtable(lua, static_cast<int>(words.size()), 0);
  int place = 0;
  for (const auto word : words) {
    lua_pushlstring(lua, word.data(), word.size());
    lua_rawseti(lua, -2, ++place);
  }
  lua_rawset(lua, LUA_GLOBALSINDEX);
}

void open_library(lua_State* lua, lua_CFunction open, const char* name) {
  lua_pushcfunction(lua, open);
  lua_pushstring(lua, name);
  lua_call(lua, 1, 0);
}

void remove_globals(lua_State* lua, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    lua_pushnil(lua);
    lua_setglobal(lua, name);
  }
}

}  // namespace

void RedisScripts::Close::operator()(lua_State* lua) const { ::lua_close(lua); }

RedisScripts::RedisScripts(ScriptCalls& calls) : calls_(calls) { make_globals(); }

/// Leaves out what reaches beyond the script, and randomness: a script that uses these fails here.
void RedisScripts::make_globals() {
  lua_.reset(::lua_newstate(ScriptMemory::change, &memory_));
  lua_State* lua = lua_.get();
  lua_gc(lua, LUA_GCSETPAUSE, kPause);
  open_library(lua, luaopen_base, "");
  open_library(lua, luaopen_table, LUA_TABLIBNAME);
  open_library(lua, luaopen_string, LUA_STRLIBNAME);
  open_library(lua, luaopen_math, LUA_MATHLIBNAME);
  remove_globals(lua, {"dofile", "loadfile", "print", "newproxy", "module", "require"});
  lua_getglobal(lua, "math");
  for (const char* name : {"random", "randomseed"}) {
    lua_pushnil(lua);
    lua_setfield(lua, -2, name);
  }
  lua_pop(lua, 1);
  lua_pushcfunction(lua, protected_call);
  lua_setglobal(lua, "pcall");

  lua_createtable(lua, 0, 4);
  for (const auto& [name, function] :
       {std::pair("call", &RedisScripts::call), std::pair("pcall", &RedisScripts::pcall)}) {
    lua_pushlightuserdata(lua, this);
    lua_pushcclosure(lua, function, 1);
    lua_setfield(lua, -2, name);
  }
  lua_pushcfunction(lua, error_reply);
  lua_setfield(lua, -2, "error_reply");
  lua_pushcfunction(lua, status_reply);
  lua_setfield(lua, -2, "status_reply");
  lua_setglobal(lua, "redis");

  lua_createtable(lua, 0, 2);
  lua_pushcfunction(lua, unknown_global);
  lua_setfield(lua, -2, "__index");
  lua_pushcfunction(lua, new_global);
  lua_setfield(lua, -2, "__newindex");
  lua_setmetatable(lua, LUA_GLOBALSINDEX);
  lua_settop(lua, 0);
  lua_pushcfunction(lua, on_error);
}

void RedisScripts::forget_all() {
  functions_.clear();
  make_globals();
}

/// Digests may be in upper case.
RedisScripts::Functions::const_iterator RedisScripts::find(std::string_view digest) const {
  const auto found = functions_.find(digest);
  return found == functions_.end() && digest.size() == kDigestSize ? functions_.find(lowered(digest)) : found;
}

std::string RedisScripts::load(std::string_view script, Answer& answer) {
  auto known = digests_.find(script);
  if (known == digests_.end()) known = digests_.emplace(script, digest_of(script)).first;
  const std::string& digest = known->second;
  if (functions_.contains(digest)) return digest;
  std::string text(script);
  const auto& [from, to] = mutation_;
  for (auto at = from.empty() ? text.npos : text.find(from); at != text.npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  lua_State* lua = lua_.get();
  if (::luaL_loadbuffer(lua, text.data(), text.size(), "@user_script") != 0) {
    answer.error("ERR Error compiling script (new function): " + std::string(lua_tostring(lua, -1)));
    lua_pop(lua, 1);
    return {};
  }
  functions_.emplace(digest, ::luaL_ref(lua, LUA_REGISTRYINDEX));
  return digest;
}

bool RedisScripts::run(std::string_view digest, Words keys, Words arguments, Answer& answer) {
  lua_State* lua = lua_.get();
  const auto known = find(digest);
  if (known == functions_.end()) return false;
  called_ = 0;
  set_words(lua, "KEYS", keys);
  set_words(lua, "ARGV", arguments);
  ::lua_rawgeti(lua, LUA_REGISTRYINDEX, known->second);
  const bool succeeded = ::lua_pcall(lua, 0, 1, kOnError) == 0;
  fails_at_ = 0;
  if (succeeded) {
    answer_with_value(lua, answer);
  } else {
    answer_error(known->first, answer);
  }
  lua_settop(lua, kOnError);
  return true;
}

/// On top is a table made by on_error(), unless Lua itself failed.
void RedisScripts::answer_error(std::string_view digest, Answer& answer) {
  lua_State* lua = lua_.get();
  if (!lua_istable(lua, -1)) {
    const char* text = lua_tostring(lua, -1);
    return answer.error("ERR Error running script f_" + std::string(digest) + ", " +
                        (text ? text : "execution failure"));
  }
  const auto field = [lua](const char* name) {
    lua_getfield(lua, -1, name);
    const char* text = lua_tostring(lua, -1);
    std::string found = text ? text : "";
    lua_pop(lua, 1);
    return found;
  };
  std::string text = field("err");
  const std::string source = field("source"), line = field("line");
  if (text.empty()) text = "ERR unknown error";
  if (!line.empty()) text += " script: " + std::string(digest) + ", on " + source + ":" + line + ".";
  answer.error(text);
}

int RedisScripts::call(lua_State* lua) {
  const bool succeeded = static_cast<RedisScripts*>(lua_touserdata(lua, lua_upvalueindex(1)))->execute(lua);
  return succeeded ? 1 : lua_error(lua);
}

int RedisScripts::pcall(lua_State* lua) {
  static_cast<RedisScripts*>(lua_touserdata(lua, lua_upvalueindex(1)))->execute(lua);
  return 1;
}

/// Pushes the command's answer. False: it is an error.
bool RedisScripts::execute(lua_State* lua) {
  AnswerValue answer(lua);
  if (++called_ == fails_at_) {
    answer.error(failure_);
  } else if (take_words(lua)) {
    calls_.call_from_script(words_, answer);
  } else {
    answer.error(words_.empty() ? "ERR Please specify at least one argument for this redis lib call"
                                : "ERR Lua redis lib command arguments must be strings or integers");
  }
  return !answer.failed();
}

bool RedisScripts::take_words(lua_State* lua) {
  const int count = lua_gettop(lua);
  words_.clear();
  numbers_.resize(static_cast<std::size_t>(count));
  for (int i = 1; i <= count; ++i) {
    if (lua_type(lua, i) == LUA_TSTRING) {
      std::size_t size = 0;
      const char* bytes = lua_tolstring(lua, i, &size);
      words_.emplace_back(bytes, size);
    } else if (lua_type(lua, i) == LUA_TNUMBER) {
      const double number = lua_tonumber(lua, i);
      auto& digits = numbers_[static_cast<std::size_t>(i - 1)];
      const bool whole = std::abs(number) < kWholeNumber && number == std::trunc(number) && !std::signbit(number);
      const auto end = whole ? std::to_chars(digits.begin(), digits.end(), static_cast<std::int64_t>(number)).ptr
                             : digits.data() + std::snprintf(digits.data(), digits.size(), "%.17g", number);
      words_.emplace_back(digits.data(), static_cast<std::size_t>(end - digits.data()));
    } else {
      words_.emplace_back();
      return false;
    }
  }
  return count > 0;
}

}  // namespace penstock::simulation
