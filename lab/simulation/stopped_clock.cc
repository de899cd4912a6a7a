// SPDX-License-Identifier: Apache-2.0
// Loaded before the C library into a redis-server: its system clock stands at the time in the file STOPPED_CLOCK, in
// microseconds since 1970. Its monotonic clock, and so its timers, run on.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>

namespace {

constexpr std::int64_t kSecond = 1'000'000;

/// nullptr: there is no such file.
const volatile std::int64_t* shown() {
  const char* path = getenv("STOPPED_CLOCK");
  const int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  if (fd < 0) return nullptr;
  void* place = mmap(nullptr, sizeof(std::int64_t), PROT_READ, MAP_SHARED, fd, 0);
  close(fd);
  return place == MAP_FAILED ? nullptr : static_cast<const volatile std::int64_t*>(place);
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* now) noexcept {
  static const volatile std::int64_t* const kShown = shown();
  const bool stands = kShown && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE);
  if (!stands) return static_cast<int>(syscall(SYS_clock_gettime, clock, now));
  const std::int64_t microseconds = *kShown;
  *now = {.tv_sec = microseconds / kSecond, .tv_nsec = microseconds % kSecond * 1000};
  return 0;
}

int gettimeofday(timeval* now, void*) noexcept {
  timespec exact{};
  const int result = clock_gettime(CLOCK_REALTIME, &exact);
  *now = {.tv_sec = exact.tv_sec, .tv_usec = exact.tv_nsec / 1000};
  return result;
}

time_t time(time_t* now) noexcept {
  timespec exact{};
  clock_gettime(CLOCK_REALTIME, &exact);
  if (now) *now = exact.tv_sec;
  return exact.tv_sec;
}

}  // extern "C"
