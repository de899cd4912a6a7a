// SPDX-License-Identifier: Apache-2.0
// The commands of the program, one function each. They print, and return the program's exit code: 0, or 1 with a reason
// on stderr. An empty `config_file` means the built-in defaults. Called by main only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/exec_config.h"

namespace penstock::app {

/// Runs the proxy until SIGTERM or SIGINT, then drains; a second one ends the process at once. SIGHUP reopens the event
/// log, and reloads the file.
int run(const std::string& config_file);

/// Reports everything that is wrong with a file, and what may not do what it seems to. `format`: `text`, or `json` on
/// stdout. `live`: also asks the Redis of the file.
int check(const std::string& file, const std::string& format, bool live);

/// Which upstream a URL belongs to, and how a request for it would travel. Without a scheme it is an https URL.
/// `wanted`: the URL, or a method and the URL; GET if there is none.
int explain(const std::string& config_file, const std::vector<std::string>& wanted);

/// Prints the proxy variables. `format`: `sh` for `eval`, `fish`, `dotenv`, or `docker` for its `--env-file`.
int env(const std::string& config_file, const std::string& format);

struct SimulateOptions {
  std::string config_file;          ///< the new settings
  std::string old_file;             ///< those that held when the log was written; empty: they are not replayed
  std::vector<std::string> files;   ///< event logs; -: stdin
  std::vector<std::string> quotas;  ///< NAME=RATE: what the API of an upstream lets pass
  bool json = false;
};

/// Says what the new settings would have made of the requests of event logs, beside what became of them.
int simulate(const SimulateOptions& options);

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
  std::string admin;                       ///< address:port of an admin port; empty: none is opened
  std::optional<std::string> report;       ///< a file for the page as it is at the end
};

/// Runs a command under a proxy of its own. Returns its exit code; 128 + n if signal n ended it, 127 if it was not
/// found, 126 if it could not be started, 2 if no command was given; 1 instead of 0 if the report cannot be written.
int exec(const ExecOptions& options, const std::vector<std::string>& command);

struct PermitCommand {
  std::string config_file;  ///< says where the proxy listens, unless `proxy` or $PENSTOCK_PROXY does
  std::string proxy;        ///< http://[user:password@]host[:port]; empty: see above
  std::string upstream;     ///< its name
  int weight = 1;
  std::string max_wait, group;  ///< of Penstock-Max-Wait and Penstock-Group; empty: none
};

/// Runs a command while it holds a permit. Returns its exit code, as exec() does; 75 if the permit was refused because
/// others have what there is, 69 if there is none to be had: no proxy, no such upstream, no right to it.
int permit(const PermitCommand& options, const std::vector<std::string>& command);

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

struct AheadOptions {
  std::string config_file, admin;    ///< as in reload()
  std::vector<std::string> wanted;   ///< as in explain()
  std::string weight;                ///< Penstock-Weight; empty: none
  std::string cost;                  ///< as AheadQuery::cost; empty: 1
  std::vector<std::string> headers;  ///< NAME:VALUE, that a route or `group` looks at
};

/// Prints when a request would leave a running Penstock that came now, as JSON. It spends nothing.
int ahead(const AheadOptions& options);

struct TopOptions {
  std::string config_file, admin;  ///< as in reload()
  bool once = false;               ///< print it once, as lines
  bool json = false;               ///< print /status itself, each on one line
};

/// Shows what waits at each upstream of a running Penstock, and why: on a terminal until the user leaves, elsewhere as
/// lines, once a second.
int top(const TopOptions& options);

/// "0.1.0", and "penstock 0.1.0 (commit 0123456789)".
std::string version();
std::string version_line();

}  // namespace penstock::app
