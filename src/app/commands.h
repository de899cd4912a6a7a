// SPDX-License-Identifier: Apache-2.0
// The commands of the program, one function each. They print, and return the program's exit code: 0, or 1 with a reason
// on stderr. An empty `config_file` means the built-in defaults. Called by main only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/exec_config.h"

namespace penstock::app {

/// Runs the proxy until SIGTERM or SIGINT, then drains; a second one ends the process at once. SIGHUP reopens the event
/// log, and reloads the file.
int run(const std::string& config_file);

/// Reports everything that is wrong with a file, and what may not do what it seems to. `format`: `text`, or `json` on
/// stdout.
int check(const std::string& file, const std::string& format);

/// Which upstream a URL belongs to, and how a request for it would travel. Without a scheme it is an https URL.
int explain(const std::string& config_file, const std::string& wanted);

/// Prints the proxy variables. `format`: `sh` for `eval`, `fish`, `dotenv`, or `docker` for its `--env-file`.
int env(const std::string& config_file, const std::string& format);

/// Lists the presets of well-known APIs, or prints one with what its limits rest on.
int presets(const std::string& name);
/// Prints a file with these presets.
int init(const std::vector<std::string>& names);

/// Prints the JSON schema of a configuration.
int schema();

struct ExecOptions {
  enum class Summary : std::uint8_t { on_terminal, no, text, json };

  std::string config_file;
  HostLimits hosts;                        ///< if there are any, no file is read and none is kept
  std::string events;                      ///< a file for the event log; empty: what the configuration says
  bool print = false;                      ///< instead of running a command, say what it would find
  Summary summary = Summary::on_terminal;  ///< on_terminal: as text, if stderr is a terminal
};

/// Runs a command under a proxy of its own. Returns its exit code; 128 + n if signal n ended it, 127 if it was not
/// found, 126 if it could not be started, 2 if no command was given.
int exec(const ExecOptions& options, const std::vector<std::string>& command);

/// Creates the authority of interception; never overwrites one.
int ca_init(const std::string& config_file);
/// Prints the path of its certificate.
int ca_path(const std::string& config_file);

/// Tries interception with each program that is installed.
int doctor(const std::string& config_file);

/// Asks the admin port of a running Penstock whether it is ready.
int healthcheck(const std::string& config_file);

/// Has a running Penstock read its file again, and waits until it has. `admin`: the URL of its admin port; empty: the
/// one that the configuration has.
int reload(const std::string& config_file, const std::string& admin);

/// Ends the pauses of one upstream of a running Penstock once, for all processes that share Redis with it. `admin` as
/// in reload().
int resume(const std::string& config_file, const std::string& admin, const std::string& upstream);

/// "0.1.0", and "penstock 0.1.0 (commit 0123456789)".
std::string version();
std::string version_line();

}  // namespace penstock::app
