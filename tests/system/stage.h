// SPDX-License-Identifier: Apache-2.0
// The stage that most system tests play on: one origin and one running proxy, and the sentences they have in common.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "support/held_port.h"
#include "support/machine.h"
#include "system/client.h"
#include "system/daemon.h"
#include "system/origin.h"

namespace penstock::trial {

using namespace std::chrono_literals;
using namespace std::string_literals;

inline constexpr std::uint64_t kMiB = 1024 * 1024;

using test::machine_late;
using test::within;

/// How late what is due may be seen where the machine itself is in time: the program keeps its times to a few
/// milliseconds, a build with a sanitizer takes longer for all it does. That nothing is early is exact.
inline const Clock::duration kLate = is_sanitized() ? 1s : 300ms;

/// How much the program may grow while it streams; sanitizers have their own needs.
inline std::size_t slack_kib() { return (is_sanitized() ? 48 : 8) * 1024; }

struct Stage {
  explicit Stage(const Given& given = {}) : daemon(given) {}
  /// Nothing malformed may ever have reached the origin.
  ~Stage() { EXPECT_EQ(origin.complaint(), ""); }

  std::string url(std::string_view path = "/") const { return origin.url(path); }
  /// One request on a connection of its own, and its answer.
  Reply ask(std::string_view bytes) const { return daemon.ask(bytes); }
  Reply fetch(std::string_view path, std::string_view lines = "") const { return daemon.ask(get(url(path), lines)); }

  Origin origin;
  Daemon daemon;
};

/// A listening socket whose backlog is full: whoever connects now hears nothing.
struct Silent {
  Silent();
  std::string host() const { return "127.0.0.1:" + std::to_string(port); }

  std::uint16_t port = 0;
  Socket listener;
  std::vector<Socket> fillers;
};

/// A port at which nobody listens, and nobody will: whoever connects is refused.
struct Closed {
  std::string host() const { return "127.0.0.1:" + std::to_string(port); }

  const test::HeldPort held;
  const std::uint16_t port = held.number();
};

/// Listens where nobody may go, on 127.9.0.2 at this port, and sees to it that nobody has come.
struct Trap {
  explicit Trap(std::uint16_t port);
  Trap(const Trap&) = delete;
  ~Trap();

  Socket listener;
};

/// A file of settings for every upstream.
Given with_defaults(std::string_view settings);

/// The answer is Penstock's own: one of these statuses, with a Proxy-Status of this error.
void expect_own_answer(const Reply& reply, std::initializer_list<int> statuses,
                       std::string_view error = "http_request_error");

/// It is a 403, because of an address; the reason has these words.
void expect_denied(const Reply& reply, std::string_view why);

/// Such an answer comes next, and then the connection ends.
void expect_refusal(Client& client, std::initializer_list<int> statuses, std::string_view error = "http_request_error");

/// These bytes get exactly one such refusal and a closed connection; nothing of them reaches the origin, and other
/// clients notice nothing.
void expect_refused(Stage& stage, std::string_view bytes, std::initializer_list<int> statuses = {400});

/// Lifts the limit on open files, for this process and its children, as far as it goes; what it is then.
std::size_t allow_open_files();

/// Waits until it has moved, and then stands still; how far it came.
std::uint64_t settled(const std::atomic<std::uint64_t>& moved);

/// For a message of a failed assertion: controls made visible, cut where it is long.
std::string shown(std::string_view bytes);

}  // namespace penstock::trial
