// SPDX-License-Identifier: Apache-2.0
// `penstock exec`: a proxy in this process for the life of one command, which finds it in its environment. Otherwise
// the command must notice nothing: it gets the original signal mask, and signals and its exit code pass through.
#include <sys/wait.h>

#include <atomic>
#include <cstring>

#include "app/ca_environment.h"
#include "app/child.h"
#include "app/commands.h"
#include "app/settings.h"
#include "app/signals.h"
#include "app/systemd.h"
#include "penstock/proxy.h"

namespace penstock::app {

namespace {

// On loopback, where the command runs, whatever the file says of listeners, of clients elsewhere, and of passwords.
Config for_one_command(Config config) {
  config.proxy.listen = {"127.0.0.1", 0};
  config.admin.listen = {"127.0.0.1", 0};
  config.access.clients = {"loopback"};
  config.access.users.clear();
  if (config.log.events == "stdout" || config.log.events == "stderr") config.log.events = "off";
  return config;
}

// The terminal itself sends Ctrl-C to the command: only signals sent to this process alone are passed on.
void pass_on(const siginfo_t& signal, pid_t to) {
  if (signal.si_code != SI_KERNEL) kill(to, signal.si_signo);
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

/// A program that bypasses the proxy says nothing of it, and obeys no limit.
void tell_unless(bool asked, const LogConfig& log) {
  if (asked || log.level > LogLevel::info) return;
  complain("no request came by: the command asked for nothing, or went past the proxy (docs/clients.md says which do)");
}

int not_started(const std::string& command, int error) {
  complain(command + ": " + std::strerror(error));
  return error == ENOENT ? 127 : 126;
}

}  // namespace

int exec(const std::string& config_file, std::vector<std::string> command) {
  if (command.empty()) return complain("exec needs a command"), 2;
  const auto config = settings(config_file);
  if (!config) return 1;
  leave_sockets();
  std::signal(SIGCHLD, SIG_DFL);  // if inherited as ignored, the command's exit code would be lost
  const BlockedSignals signals{SIGTERM, SIGINT, SIGHUP, SIGCHLD};
  std::atomic<bool> told = false;  // there was an event; outlives the proxy, which sends its last ones as it ends
  Proxy proxy{for_one_command(*config)};
  proxy.observe([&](const Event&) { told = true; });
  if (const auto running = proxy.start(); !running) return complain(running.error().message);
  const auto listener = parse_endpoint(proxy.url().substr(std::strlen("http://"))).value();
  const auto variables = variables_for(*config, listener);
  if (!variables) return 1;
  const auto started = start(command, *variables, signals.before());
  if (started.error != 0) return not_started(command[0], started.error);
  const int code = wait_for(started.pid, signals);
  const bool connected = proxy.snapshot().connections > 0;  // its request is yet to be read, or to be reported
  tell_unless(connected || told, config->log);
  return code;
}

}  // namespace penstock::app
