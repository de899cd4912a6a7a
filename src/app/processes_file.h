// SPDX-License-Identifier: Apache-2.0
// Keeps the number of processes seen at Redis over restarts of this one: if Redis is away at the next start, limits are
// divided by that number. Written by the loop's worker, and only when it changes. For the engine.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/weak_self.h"
#include "loop/loop.h"
#include "penstock/event.h"

namespace penstock::app {

class ProcessesFile {
 public:
  /// With an empty path nothing is kept. A file that cannot be written is reported once.
  ProcessesFile(loop::Loop& loop, std::string path, NoticeSink notices);
  ~ProcessesFile();
  ProcessesFile(const ProcessesFile&) = delete;
  ProcessesFile& operator=(const ProcessesFile&) = delete;

  const std::string& path() const { return path_; }
  /// The number read at start, or kept since; 0: none could be read.
  int kept() const { return kept_; }
  /// Takes the number seen, each second. A higher one is kept at once; a lower one after ten minutes without a higher:
  /// when all processes are stopped one after the other, the last sees only itself.
  void seen(std::int64_t now, int processes);

 private:
  void keep(int processes);
  void complain(const std::string& why);

  loop::Loop& loop_;
  const std::string path_;
  const NoticeSink notices_;
  int kept_ = 0;
  int most_ = 0;            // the most seen since `since_`
  std::int64_t since_ = 0;  // when fewer than kept were first seen
  bool complained_ = false;
  base::WeakSelf<ProcessesFile> self_{this};  // last: no callback after destruction
};

}  // namespace penstock::app
