// SPDX-License-Identifier: Apache-2.0
// By /proc/…/schedstat, see proc(5).
#include "support/core_time.h"

#include <cstdint>
#include <filesystem>
#include <fstream>

namespace penstock::test {

CoreTime core_time_of(const std::string& thread) {
  std::int64_t ran = 0, waited = 0;
  std::ifstream(thread + "/schedstat") >> ran >> waited;
  return {std::chrono::nanoseconds(ran), std::chrono::nanoseconds(waited)};
}

std::vector<std::string> threads_of(pid_t process) {
  std::vector<std::string> threads;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/" + std::to_string(process) + "/task"))
    threads.push_back(thread.path());
  return threads;
}

std::chrono::nanoseconds waited_by(pid_t process) {
  std::chrono::nanoseconds waited{};
  for (const auto& thread : threads_of(process)) waited += core_time_of(thread).waited;
  return waited;
}

}  // namespace penstock::test
