// SPDX-License-Identifier: Apache-2.0
// Loaded before the C library into a program whose system clock is to be wrong, by as many seconds as WRONG_CLOCK says.
// Its monotonic clock and its timers stay right; libfaketime 0.9.10 moves a timerfd along, whatever clock that has.
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>

namespace {

time_t wrong_by() {
  const char* seconds = getenv("WRONG_CLOCK");
  return seconds ? atol(seconds) : 0;
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* now) noexcept {
  static const time_t seconds = wrong_by();
  const auto result = static_cast<int>(syscall(SYS_clock_gettime, clock, now));
  if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) now->tv_sec += seconds;
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
