// SPDX-License-Identifier: Apache-2.0
// Runs the built program to its end, and keeps what it said. For tests of this folder.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

#include "support/sockets.h"

namespace penstock::app {

/// Begins a configuration on ports that are free.
inline const std::string kAnywhere =
    "version: 1\nproxy: { listen: 127.0.0.1:0 }\nadmin: { listen: 127.0.0.1:0 }\nlog: { events: off }\n";

struct Ended {
  int code = -1;  ///< 128 + n where signal n ended it
  std::string out, err;
};

using Texts = std::vector<std::string>;

/// A program under way. Ends it, if need be, when dropped.
class Program {
 public:
  /// `environment` is added to the test's own; a name alone takes a variable away.
  explicit Program(Texts arguments, Texts environment = {});
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  pid_t pid() const { return pid_; }
  void send(int signal) const;
  /// Waits until `text` stands on stdout or stderr; false if it ended, or ten seconds passed, without.
  bool says(const std::string& text);
  /// What stands behind `text` so far, up to the end of its line.
  std::string said_after(const std::string& text) const;
  Ended wait();

 private:
  std::string output(const char* of) const;

  std::string folder_;
  pid_t pid_ = 0;
  int status_ = 0;
};

Ended penstock(const Texts& arguments, const Texts& environment = {});

/// A file that lives as long as this.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& text);
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// Takes one connection, reads its request head, answers with `answer`, closes it; gives the head.
std::string serve_one(test::ListeningSocket& listener, const std::string& answer);

}  // namespace penstock::app
