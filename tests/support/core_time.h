// SPDX-License-Identifier: Apache-2.0
// For how long threads have run, and waited for a core, as the system tells. The measure of machine.h does not see that
// of a thread which always has something to do: it waits where one that sleeps is woken at once. Any thread may ask.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

namespace penstock::test {

/// Of a thread, since it began.
struct CoreTime {
  std::chrono::nanoseconds ran{}, waited{};
};

/// `thread` is the place where the system tells of it. Zero where it tells nothing, as of one that has ended.
CoreTime core_time_of(const std::string& thread = "/proc/thread-self");
/// The places of all threads that a process has.
std::vector<std::string> threads_of(pid_t process);
/// For how long all threads that a process has have waited.
std::chrono::nanoseconds waited_by(pid_t process);

}  // namespace penstock::test
