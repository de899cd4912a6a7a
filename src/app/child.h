// SPDX-License-Identifier: Apache-2.0
// Other programs, started with variables of ours in their environment. For `exec` and `doctor`.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "app/proxy_environment.h"

namespace penstock::app {

struct Started {
  pid_t pid = 0;
  int error = 0;  ///< of `errno`; 0: it runs
};

/// With this signal mask, and our own input and output. Variables take the place of those of the same name.
Started start(std::vector<std::string> command, const Variables& variables, const sigset_t& mask);

struct Ran {
  int code = 0;       ///< 128 + n: signal n ended it
  std::string said;   ///< on stdout and stderr
  bool late = false;  ///< it was ended for that, and all that it had started
};

/// Runs it with an empty input to its end, but no longer than `limit`, and not in the terminal's foreground. Nothing:
/// there is no such program.
std::optional<Ran> run_quietly(std::vector<std::string> command, const Variables& variables,
                               std::chrono::milliseconds limit);

/// 128 + n where signal n ended it.
int exit_code(int status);

}  // namespace penstock::app
