// SPDX-License-Identifier: Apache-2.0
// Starts other programs with variables of ours in their environment. For `exec`, `permit` and `doctor`.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "app/proxy_environment.h"
#include "app/signals.h"

namespace penstock::app {

struct Started {
  pid_t pid = 0;
  int error = 0;  ///< an errno; 0: it runs
};

/// Starts `command` with this signal mask and our own input and output. `variables` replace those of the same name.
Started start(std::vector<std::string> command, const Variables& variables, const sigset_t& mask);

struct Ran {
  int code = 0;       ///< 128 + n: signal n ended it
  std::string said;   ///< its output, stdout and stderr
  bool late = false;  ///< the limit passed: it was killed, with all that it had started
};

/// Runs `command` to its end, with empty input and outside the terminal's foreground, but no longer than `limit`. Null:
/// there is no such program.
std::optional<Ran> run_quietly(std::vector<std::string> command, const Variables& variables,
                               std::chrono::milliseconds limit);

/// Says why `command` could not be started; returns 127 if there is no such program, else 126.
int not_started(const std::string& command, int error);

/// Waits for the end of a program that was started with the mask `signals.before()`. SIGCHLD is among the signals; the
/// others are passed on, if they were sent to this process alone. Returns its exit_code().
int wait_for(pid_t pid, const BlockedSignals& signals);

/// From waitpid's status; 128 + n if signal n ended it.
int exit_code(int status);

}  // namespace penstock::app
