// SPDX-License-Identifier: Apache-2.0
// See child.h.
#include "app/child.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <thread>

#include "app/settings.h"

namespace penstock::app {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kPause{2};
constexpr std::size_t kMostSaid = 64 * 1024;

std::vector<std::string> environment_with(const Variables& variables) {
  std::vector<std::string> entries;
  for (const auto& [name, value] : variables) entries.emplace_back(name).append("=").append(value);
  for (char** entry = environ; *entry; ++entry) {
    const std::string_view text = *entry;
    const auto name = text.substr(0, text.find('='));
    const auto ours = [&](const auto& variable) { return variable.first == name; };
    if (std::none_of(variables.begin(), variables.end(), ours)) entries.emplace_back(text);
  }
  return entries;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> all;
  all.reserve(texts.size() + 1);
  for (auto& text : texts) all.push_back(text.data());
  all.push_back(nullptr);
  return all;
}

Started spawn(std::vector<std::string> command, const Variables& variables, const sigset_t& mask,
              const posix_spawn_file_actions_t* actions, short more_flags) {
  auto environment = environment_with(variables);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, static_cast<short>(POSIX_SPAWN_SETSIGMASK | more_flags));
  posix_spawnattr_setsigmask(&attributes, &mask);
  Started started;
  started.error = posix_spawnp(&started.pid, command[0].c_str(), actions, &attributes, pointers(command).data(),
                               pointers(environment).data());
  posix_spawnattr_destroy(&attributes);
  return started;
}

/// In its own process group, so that the processes that it starts can be killed with it.
Started start_quietly(std::vector<std::string> command, const Variables& variables, int output) {
  sigset_t mask;
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
  auto started = spawn(std::move(command), variables, mask, &actions, POSIX_SPAWN_SETPGROUP);
  posix_spawn_file_actions_destroy(&actions);
  return started;
}

/// The terminal itself sends Ctrl-C to the command: only signals sent to this process alone are passed on.
void pass_on(const siginfo_t& signal, pid_t to) {
  if (signal.si_code != SI_KERNEL) kill(to, signal.si_signo);
}

/// False: the output had not ended by then.
bool listen_until(int input, Clock::time_point until, std::string& said) {
  for (std::array<char, 4096> bytes{};;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now());
    pollfd one{.fd = input, .events = POLLIN, .revents = 0};
    if (left.count() <= 0 || poll(&one, 1, static_cast<int>(left.count())) == 0) return false;
    const ssize_t count = read(input, bytes.data(), bytes.size());
    if (count == 0) return true;
    if (count > 0 && said.size() < kMostSaid) said.append(bytes.data(), static_cast<std::size_t>(count));
  }
}

/// False: the process still ran by then, though it may have closed its output.
bool ends_until(pid_t pid, Clock::time_point until, int& status) {
  for (; waitpid(pid, &status, WNOHANG) != pid; std::this_thread::sleep_for(kPause)) {
    if (Clock::now() >= until) return false;
  }
  return true;
}

}  // namespace

int exit_code(int status) { return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status); }

Started start(std::vector<std::string> command, const Variables& variables, const sigset_t& mask) {
  return spawn(std::move(command), variables, mask, nullptr, 0);
}

int not_started(const std::string& command, int error) {
  complain(command + ": " + std::strerror(error));
  return error == ENOENT ? 127 : 126;
}

int wait_for(pid_t pid, const BlockedSignals& signals) {
  for (int status = 0;;) {
    const auto signal = signals.wait();
    if (signal.si_signo != SIGCHLD) {
      pass_on(signal, pid);
    } else if (waitpid(pid, &status, WNOHANG) == pid) {
      return exit_code(status);
    }
  }
}

std::optional<Ran> run_quietly(std::vector<std::string> command, const Variables& variables,
                               std::chrono::milliseconds limit) {
  std::array<int, 2> pipe{};
  if (pipe2(pipe.data(), O_CLOEXEC) != 0) return std::nullopt;
  const auto started = start_quietly(std::move(command), variables, pipe[1]);
  close(pipe[1]);
  if (started.error != 0) return close(pipe[0]), std::nullopt;
  Ran ran;
  int status = 0;
  const auto until = Clock::now() + limit;
  ran.late = !listen_until(pipe[0], until, ran.said) || !ends_until(started.pid, until, status);
  close(pipe[0]);
  if (ran.late) {
    kill(-started.pid, SIGKILL);
    waitpid(started.pid, &status, 0);
  }
  ran.code = exit_code(status);
  return ran;
}

}  // namespace penstock::app
