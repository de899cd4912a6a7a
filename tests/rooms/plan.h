// SPDX-License-Identifier: Apache-2.0
// The plan of the house: which room may include which, and where each outside library lives. A new arrow between rooms
// is drawn here first, on purpose.
#pragma once

#include <string_view>
#include <vector>

#include "rooms/code.h"

namespace penstock::rooms {

struct Room {
  std::string_view name;                      ///< src/NAME; `penstock` is include/penstock, the public door
  std::vector<std::string_view> may_include;  ///< besides itself and the standard library
  std::vector<std::string_view> system = {};  ///< headers of the operating system; "*": any
};

inline const std::vector<Room> kRooms{
    // clang-format off
    {"penstock", {}},
    {"base",     {},                                                   {"unistd.h"}},
    {"flow",     {"penstock"}},
    {"replay",   {"penstock", "flow"}},
    {"http",     {"penstock"},                                         {"arpa/inet.h", "netinet/in.h"}},
    {"cost",     {}},
    {"access",   {"penstock"},                                         {"arpa/inet.h", "netinet/in.h"}},
    {"config",   {"penstock", "access", "cost"}},
    {"loop",     {"penstock"},                                         {"*"}},
    {"redis",    {"penstock", "flow", "loop"},                         {"*"}},
    {"tls",      {"penstock", "loop"},                                 {"arpa/inet.h", "sys/socket.h", "sys/stat.h"}},
    {"transfer", {"penstock", "access", "loop", "tls"},                 {"*"}},
    {"observe",  {"penstock", "loop", "http"},                         {"*"}},
    {"proxy",    {"penstock", "access", "cost", "flow", "http", "loop", "tls", "transfer"}},
    {"app",      {"penstock", "access", "config", "flow", "http", "loop", "observe", "proxy", "redis", "replay", "tls", "transfer"}, {"*"}},
    // clang-format on
};

/// Folders inside a room: src/NAME. Files of a room that has such folders stand in one of them, and include of the
/// others those alone that are listed.
inline const std::vector<Room> kInnerRooms{
    // clang-format off
    {"proxy/route",     {}},
    {"proxy/exchange",  {"proxy/route"}},
    {"proxy/flight",    {"proxy/exchange"}},
    {"proxy/intercept", {"proxy/exchange"}},
    {"proxy/dispatch",  {"proxy/route", "proxy/exchange", "proxy/flight", "proxy/intercept"}},
    {"proxy/client",    {"proxy/exchange", "proxy/intercept", "proxy/dispatch"}},
    {"redis/wire",      {}},
    {"redis/client",    {"redis/wire"}},
    {"redis/limits",    {"redis/wire", "redis/client"}},
    // clang-format on
};

/// Every room may include it, but for the public door.
inline constexpr std::string_view kGround = "base";

struct Library {
  std::string_view name;
  std::string_view headers;                ///< how their paths begin
  std::vector<std::string_view> lives_in;  ///< how the paths below src/ begin that may include them
  bool one_file = false;                   ///< and of these only a single one
};

inline const std::vector<Library> kLibraries{
    // clang-format off
    {"libuv",          "uv.h",        {"loop/", "transfer/"}},
    {"c-ares",         "ares.h",      {"loop/resolver."}},
    {"hiredis",        "hiredis/",    {"redis/wire/"}},
    {"libcurl",        "curl/",       {"transfer/"}},
    {"OpenSSL",        "openssl/",    {"tls/"}},
    {"yaml-cpp",       "yaml-cpp/",   {"config/"}, true},
    {"libcrypt",       "crypt.h",     {"access/"}, true},
    {"llhttp",         "llhttp.h",    {"http/"}, true},
    {"spdlog",         "spdlog/",     {"observe/"}},
    {"prometheus-cpp", "prometheus/", {"observe/"}},
    {"nlohmann-json",  "nlohmann/",   {"http/error_codes.cc", "observe/", "app/exec_report.", "app/exec_summary.", "app/check.", "app/reload_command.",
                                     "app/top_status.", "replay/comparison_json."}},
    {"CLI11",          "CLI/",        {"app/main.cc"}},
    {"libsystemd",     "systemd/",    {"app/systemd."}, true},
    // clang-format on
};

/// How headers of the operating system begin. Whatever is neither here nor above nor standard C++ is unknown, and
/// refused.
inline const std::vector<std::string_view> kSystem{
    "arpa/",     "fcntl.h", "ifaddrs.h", "langinfo.h", "linux/",    "net/", "netdb.h",   "netinet/", "poll.h",
    "pthread.h", "pwd.h",   "signal.h",  "spawn.h",    "strings.h", "sys/", "termios.h", "unistd.h"};

/// Never part of a name: they say nothing.
inline const std::vector<std::string_view> kForbiddenWords{"context", "manager", "handler", "util",
                                                           "utils",   "data",    "helper",  "helpers"};

/// How the names of C libraries begin, which are not ours to choose.
inline const std::vector<std::string_view> kOutsidePrefixes{"ares_",  "curl_",   "CURL_", "CRYPTO_", "BIO_",
                                                            "crypt_", "llhttp_", "SSL_",  "sd_",     "uv_"};

inline constexpr std::size_t kLongestFile = 500;     // lines: it stays below
inline constexpr std::size_t kLongestFunction = 60;  // lines, with its braces

// Of a class with functions, a nested one apart from the one around it.
inline constexpr std::size_t kMostMembers = 25;
inline constexpr std::size_t kMostMethods = 35;
inline constexpr std::size_t kMostBools = 3;

}  // namespace penstock::rooms
