// SPDX-License-Identifier: Apache-2.0
// The built program as a child process: started on free ports with a configuration of the test's, watched through its
// event file, /status and /metrics, ended with SIGTERM. A crash, a sanitizer's complaint or a bad exit fails the test.
#pragma once

#include <sys/types.h>

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "system/client.h"

namespace penstock::trial {

using Json = nlohmann::json;

/// Sockets that a program gets as systemd hands them over: from descriptor 3 on, and told in its environment.
struct HandOver {
  std::vector<int> fds{};
  std::string names{};  ///< "proxy:admin"
  bool to_another = false;
};

struct Given {
  std::string yaml{};  ///< more top-level keys, e.g. "defaults: { maxConcurrent: 1 }\n"
  std::string grace = "250ms";
  std::string via = "penstock";
  std::string listen = "127.0.0.1:0";
  std::string admin = "127.0.0.1:0";
  std::string events{};                              ///< empty: a file that events() reads
  std::map<std::string, std::string> environment{};  ///< on top of an empty one
  int stdout_fd = -1;                                ///< where its stdout goes; -1: nowhere
  std::size_t files = 0;                             ///< how many it may have open; 0: as many as the test
  HandOver sockets{};
  bool is_clean = true;  ///< false: the test ends it in a way of its own
};

class Daemon {
 public:
  /// Starts it, and returns when it listens.
  explicit Daemon(const Given& given = {});
  ~Daemon();
  Daemon(const Daemon&) = delete;

  std::uint16_t port() const { return port_; }
  std::uint16_t admin_port() const { return admin_port_; }
  std::string host() const { return "127.0.0.1:" + std::to_string(port_); }
  pid_t pid() const { return pid_; }

  /// All lines of the event file so far.
  std::vector<Json> events() const;
  /// Those for which it holds, once there are that many; fewer if patience is over.
  std::vector<Json> await_events(std::size_t count, const std::function<bool(const Json&)>& wanted) const;
  std::vector<Json> await_events(std::size_t count, const std::string& kind) const;
  /// The only one of its kind, once it is there.
  Json await_event(const std::string& kind) const;

  /// The answer to these bytes, on a connection of its own.
  Reply ask(std::string_view bytes) const;
  /// An answer of the admin port.
  Reply admin(const std::string& path, const std::string& method = "GET") const;
  /// The upstream's entry in /status; null where there is none.
  Json status(const std::string& upstream) const;
  bool await_pending(const std::string& upstream, std::size_t count) const;
  bool await_in_flight(const std::string& upstream, std::size_t count) const;
  /// The sum of all samples of a metric whose labels contain `labels`.
  double metric(const std::string& name, const std::string& labels = "") const;

  std::size_t resident_kib() const;
  double cpu_seconds() const;
  std::size_t descriptors() const;

  void signal(int number) const;
  /// Sends SIGSTOP, and waits until that has stopped it. It goes on with SIGCONT.
  bool stands_still() const;

  /// Its file.
  const std::string& file() const { return file_; }
  /// What stands in its file where the keys that it was given are these.
  std::string text_with(const std::string& yaml) const;
  void write_file(const std::string& text) const;
  /// SIGHUP, and what it comes to: whether the program has taken its file on. Waits for its word.
  bool reloads() const;
  /// The same with a file of these keys.
  bool reloads(const std::string& yaml) const;
  /// Waits for the end; nothing: it does not end. An exit by signal n is 128 + n.
  std::optional<int> exit_code(Clock::duration patience = kPatience);
  /// From now on nobody reads its stderr, and the pipe is full.
  void block_stderr();
  /// Its diagnostics so far: all that it had written before the call, and before its stderr was blocked.
  std::string diagnostics() const;

 private:
  void spawn();
  bool speaks_of_reload(std::size_t so_far) const;
  void hear() const;
  void listen_to_stderr();
  bool await_listening();
  bool reap(bool block);
  void finish();

  const Given given_;
  std::string folder_, events_, file_;
  pid_t pid_ = -1;
  std::uint16_t port_ = 0, admin_port_ = 0;
  std::optional<int> exit_code_;

  mutable std::mutex mutex_;
  mutable std::condition_variable said_;
  mutable std::string stderr_;
  mutable bool stderr_ended_ = false;
  bool is_deaf_ = false;
  Socket stderr_pipe_;  // its end here, which does not block
  std::thread stderr_reader_;
};

/// Runs the program to its end; its exit code, stdout and stderr.
struct Finished {
  int code;
  std::string out, err;
};
Finished run_program(const std::vector<std::string>& arguments,
                     const std::map<std::string, std::string>& environment = {}, const HandOver& sockets = {});

/// Whether the program under test is built with a sanitizer, which needs more memory and time.
bool is_sanitized();

/// A folder of the test's own, removed by nobody but Daemon.
std::string new_folder();

}  // namespace penstock::trial
