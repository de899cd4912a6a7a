// SPDX-License-Identifier: Apache-2.0
// A system clock that a test sets while the daemon runs. Its monotonic clock and its timers stay right.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include "system/stage.h"

namespace penstock::trial {

/// The daemon's system clock, which the test sets.
class Clockwork {
 public:
  Clockwork() : path_(new_folder() + "/clock") { set(0); }
  ~Clockwork() { std::filesystem::remove_all(std::filesystem::path(path_).parent_path()); }
  void set(std::int64_t seconds) const {
    const Socket file(::open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    EXPECT_EQ(::pwrite(file.fd(), &seconds, sizeof seconds, 0), static_cast<ssize_t>(sizeof seconds));
  }
  std::map<std::string, std::string> environment() const {
    return {{"LD_PRELOAD", PENSTOCK_WRONG_CLOCK}, {"WRONG_CLOCK_FILE", path_}};
  }

 private:
  std::string path_;
};

/// How far the daemon's system clock is ahead, as its last event says.
inline double seconds_ahead(const Daemon& daemon) {
  tm at{};
  strptime(daemon.events().back().at("ts").get<std::string>().c_str(), "%Y-%m-%dT%H:%M:%S", &at);
  return difftime(timegm(&at), time(nullptr));
}

}  // namespace penstock::trial
