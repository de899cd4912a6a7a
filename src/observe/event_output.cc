// SPDX-License-Identifier: Apache-2.0
// See event_output.h. Pipes and terminals are reopened through /proc where possible, so that they can be written to
// without blocking and without changing the mode that other processes share.
#include "observe/event_output.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstring>
#include <utility>

namespace penstock::observe {
namespace {

constexpr mode_t kFileMode = 0640;

std::int64_t steady_now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

bool is_regular(int descriptor) {
  struct stat about {};
  return ::fstat(descriptor, &about) == 0 && S_ISREG(about.st_mode);
}

base::UniqueFd open_file(const std::string& path) {
  return base::UniqueFd{
      ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, kFileMode)};
}

// A regular file is duplicated instead, to keep the offset that it shares with its other writers.
base::UniqueFd share(int standard) {
  if (!is_regular(standard)) {
    const std::string path = "/proc/self/fd/" + std::to_string(standard);
    base::UniqueFd anew{::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)};
    if (anew) return anew;
  }
  return base::UniqueFd{::fcntl(standard, F_DUPFD_CLOEXEC, 0)};
}

bool is_standard(const std::string& target) { return target == "stdout" || target == "stderr"; }

Error cannot_open(const std::string& target) {
  return {.token = "", .message = "cannot write events to " + target + ": " + std::strerror(errno)};
}

std::uint64_t line_ends(std::string_view bytes) {
  return static_cast<std::uint64_t>(std::count(bytes.begin(), bytes.end(), '\n'));
}

}  // namespace

std::expected<std::unique_ptr<EventOutput>, Error> EventOutput::open(const std::string& target) {
  base::UniqueFd sink =
      is_standard(target) ? share(target == "stdout" ? STDOUT_FILENO : STDERR_FILENO) : open_file(target);
  if (!sink) return std::unexpected(cannot_open(target));
  base::UniqueFd wake{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  if (!wake) return std::unexpected(cannot_open(target));
  return std::unique_ptr<EventOutput>{new EventOutput(std::move(sink), std::move(wake))};
}

std::expected<base::UniqueFd, Error> EventOutput::open_anew(const std::string& target) {
  if (is_standard(target)) return base::UniqueFd{};
  base::UniqueFd next = open_file(target);
  if (!next) return std::unexpected(cannot_open(target));
  return next;
}

EventOutput::EventOutput(base::UniqueFd sink, base::UniqueFd wake) : wake_(std::move(wake)) { adopt(std::move(sink)); }

void EventOutput::adopt(base::UniqueFd sink) {
  sink_ = std::move(sink);
  blocking_ = !is_regular(sink_.get()) && (::fcntl(sink_.get(), F_GETFL) & O_NONBLOCK) == 0;
  torn_ = false;
}

void EventOutput::offer(base::UniqueFd next) {
  const std::lock_guard lock(offering_);
  offered_ = std::move(next);
}

void EventOutput::reopen() {
  const std::lock_guard lock(offering_);
  if (offered_) adopt(std::exchange(offered_, base::UniqueFd{}));
}

void EventOutput::write(std::string_view lines) {
  if (torn_) torn_ = write_some("\n") == 0;
  const std::size_t written = torn_ ? 0 : write_some(lines);
  if (written > 0) torn_ = lines[written - 1] != '\n';
  const std::uint64_t lost = line_ends(lines.substr(written));
  if (lost > 0) unwritten_.fetch_add(lost, std::memory_order_relaxed);
}

std::size_t EventOutput::write_some(std::string_view bytes) {
  std::size_t done = 0;
  while (done < bytes.size() && milliseconds_left() != 0) {
    if (blocking_ && !wait_until_writable()) break;
    const std::size_t size = blocking_ ? std::min<std::size_t>(bytes.size() - done, PIPE_BUF) : bytes.size() - done;
    const ssize_t taken = ::write(sink_.get(), bytes.data() + done, size);
    if (taken > 0) {
      done += static_cast<std::size_t>(taken);
    } else if (taken < 0 && errno == EAGAIN) {
      if (!wait_until_writable()) break;
    } else if (taken == 0 || errno != EINTR) {
      break;
    }
  }
  return done;
}

// Errors of the descriptor count as writable: write() then reports them.
bool EventOutput::wait_until_writable() {
  for (int left = milliseconds_left(); left != 0; left = milliseconds_left()) {
    pollfd watched[] = {{sink_.get(), POLLOUT, 0}, {wake_.get(), POLLIN, 0}};
    const bool hurried = left > 0;
    const int silence = hurried ? std::min(left, silence_.load(std::memory_order_relaxed)) : left;
    const int heard = ::poll(watched, hurried ? 1 : 2, silence);
    if (heard < 0 && errno != EINTR) return false;
    if (watched[0].revents != 0) return true;
    if (heard == 0) deadline_.store(steady_now(), std::memory_order_release);
  }
  return false;
}

// As poll() takes it: -1 waits for ever, 0 not at all.
int EventOutput::milliseconds_left() const {
  const std::int64_t deadline = deadline_.load(std::memory_order_acquire);
  if (deadline == kForever) return -1;
  const std::int64_t left = (deadline - steady_now() + 999'999) / 1'000'000;
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, INT_MAX));
}

void EventOutput::hurry(std::chrono::nanoseconds patience, std::chrono::milliseconds silence) {
  silence_.store(static_cast<int>(silence.count()), std::memory_order_relaxed);
  deadline_.store(steady_now() + patience.count(), std::memory_order_release);
  const std::uint64_t one = 1;
  // Cannot fail in a way that matters: the counter of a fresh eventfd has room.
  [[maybe_unused]] const ssize_t told = ::write(wake_.get(), &one, sizeof one);
}

}  // namespace penstock::observe
