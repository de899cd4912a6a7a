// SPDX-License-Identifier: Apache-2.0
// Loaded before the C library into a program whose system clock is to be wrong: by WRONG_CLOCK seconds, plus the number
// in the first eight bytes of the file WRONG_CLOCK_FILE, which may change. The monotonic clock and timers stay right;
// libfaketime 0.9.10 instead moves every timerfd, whatever its clock.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>

namespace {

time_t wrong_by() {
  const char* seconds = getenv("WRONG_CLOCK");
  return seconds ? atol(seconds) : 0;
}

/// nullptr: there is no such file.
const volatile std::int64_t* changing() {
  const char* path = getenv("WRONG_CLOCK_FILE");
  const int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  if (fd < 0) return nullptr;
  void* place = mmap(nullptr, sizeof(std::int64_t), PROT_READ, MAP_SHARED, fd, 0);
  close(fd);
  return place == MAP_FAILED ? nullptr : static_cast<const volatile std::int64_t*>(place);
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* now) noexcept {
  static const time_t seconds = wrong_by();
  static const volatile std::int64_t* const more = changing();
  const auto result = static_cast<int>(syscall(SYS_clock_gettime, clock, now));
  if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) now->tv_sec += seconds + (more ? *more : 0);
  return result;
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
