// SPDX-License-Identifier: Apache-2.0
// How many processes were seen at Redis, kept over restarts of this one: should Redis be away at the next, limits are
// divided by that many. Written by the loop's worker, and only when it changes. For the engine.
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
  /// Without a path nothing is kept. A file that cannot be written is told of once.
  ProcessesFile(loop::Loop& loop, std::string path, NoticeSink notices);
  ~ProcessesFile();
  ProcessesFile(const ProcessesFile&) = delete;
  ProcessesFile& operator=(const ProcessesFile&) = delete;

  const std::string& path() const { return path_; }
  /// As it was left; 0: nothing that can be read.
  int kept() const { return kept_; }
  /// What is seen, each second. More is kept at once; fewer when it was never more for ten minutes, for where all are
  /// stopped one after the other, the last sees itself alone.
  void seen(std::int64_t now, int processes);

 private:
  void keep(int processes);
  void complain(const std::string& why);

  loop::Loop& loop_;
  const std::string path_;
  const NoticeSink notices_;
  int kept_ = 0;
  int most_ = 0;            // since then
  std::int64_t since_ = 0;  // fewer than are kept were seen
  bool complained_ = false;
  base::WeakSelf<ProcessesFile> self_{this};  // last: no callback comes to what has gone
};

}  // namespace penstock::app
