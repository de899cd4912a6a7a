// SPDX-License-Identifier: Apache-2.0
// See apart.h.
#include "simulation/apart.h"

#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <exception>
#include <system_error>
#include <utility>

namespace penstock::simulation {

namespace {

[[noreturn]] void fail(const char* what) { throw std::system_error(errno, std::generic_category(), what); }

bool write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

Outcome crashed(std::string detail) { return {.broken = {{.rule = Apart::kCrash, .detail = std::move(detail)}}}; }

}  // namespace

Apart::Apart(Play play, std::size_t at_once, std::chrono::seconds longest)
    : play_(std::move(play)), at_once_(at_once), longest_(longest) {}

Apart::~Apart() {
  for (const Running& running : running_) {
    ::kill(running.process, SIGKILL);
    ::waitpid(running.process, nullptr, 0);
    ::close(running.pipe);
  }
}

void Apart::begin(std::size_t number, const Plan& plan) {
  int ends[2];
  if (::pipe(ends) != 0) fail("pipe");
  const pid_t process = ::fork();
  if (process < 0) fail("fork");
  if (process == 0) {
    ::close(ends[0]);
    play_in_child(plan, ends[1]);
  }
  ::close(ends[1]);
  running_.push_back({number, process, ends[0], {}});
}

void Apart::play_in_child(const Plan& plan, int pipe) const {
  const auto seconds = static_cast<rlim_t>(longest_.count());
  const rlimit limit{seconds, seconds + 1};
  ::setrlimit(RLIMIT_CPU, &limit);
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  Outcome outcome;
  try {
    outcome = play_(plan);
  } catch (const std::exception& error) {
    outcome = crashed(error.what());
  }
  ::_exit(write_all(pipe, to_text(outcome)) ? 0 : 1);
}

/// True at the end of the child's output.
bool Apart::read(Running& running) {
  char bytes[4096];
  const ssize_t got = ::read(running.pipe, bytes, sizeof bytes);
  if (got < 0 && errno == EINTR) return false;
  if (got > 0) running.text.append(bytes, static_cast<std::size_t>(got));
  return got <= 0;
}

Apart::Done Apart::wait() {
  while (true) {
    std::vector<pollfd> files;
    for (const Running& running : running_) files.push_back({running.pipe, POLLIN, 0});
    if (::poll(files.data(), files.size(), -1) < 0 && errno != EINTR) fail("poll");
    for (std::size_t i = 0; i < files.size(); ++i) {
      if (files[i].revents == 0 || !read(running_[i])) continue;
      const Running ended = std::move(running_[i]);
      running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(i));
      return done(ended);
    }
  }
}

Apart::Done Apart::done(const Running& running) const {
  int status = 0;
  rusage used{};
  while (::wait4(running.process, &status, 0, &used) < 0 && errno == EINTR) {
  }
  ::close(running.pipe);
  if (WIFSIGNALED(status) && (WTERMSIG(status) == SIGXCPU || WTERMSIG(status) == SIGKILL)) {
    const auto seconds = std::to_string(longest_.count());
    return {running.number,
            {.broken = {{.rule = kTime, .detail = "it takes more than " + seconds + " s of the processor's time"}}}};
  }
  if (WIFSIGNALED(status)) return {running.number, crashed(::strsignal(WTERMSIG(status)))};
  auto outcome = outcome_of(running.text);
  if (!outcome) return {running.number, crashed("it ended without an outcome")};
  outcome->seconds = seconds(used.ru_utime) + seconds(used.ru_stime);
  return {running.number, std::move(*outcome)};
}

}  // namespace penstock::simulation
