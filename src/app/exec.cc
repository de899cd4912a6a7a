// SPDX-License-Identifier: Apache-2.0
// `penstock exec`: a proxy in this process for the life of one command, which finds it in its environment. The command
// must notice nothing else: it gets back the signal mask, and all signals and its exit code pass through.
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "app/commands.h"
#include "app/settings.h"
#include "app/signals.h"
#include "app/variables.h"
#include "penstock/proxy.h"

namespace penstock::app {

namespace {

// On loopback, where the command runs, whatever the file says of listeners and of clients elsewhere.
Config for_one_command(Config config) {
  config.proxy.listen = {"127.0.0.1", 0};
  config.admin.listen = {"127.0.0.1", 0};
  config.access.clients = {"loopback"};
  if (config.log.events == "stdout" || config.log.events == "stderr") config.log.events = "off";
  return config;
}

std::vector<std::string> environment_with(const Variables& variables) {
  std::vector<std::string> entries;
  for (const auto& [name, value] : variables) entries.push_back(name + "=" + value);
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
  for (auto& text : texts) all.push_back(text.data());
  all.push_back(nullptr);
  return all;
}

struct Started {
  pid_t pid = 0;
  int error = 0;
};

Started start(std::vector<std::string> command, const Variables& variables, const sigset_t& mask) {
  auto environment = environment_with(variables);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  posix_spawnattr_setsigmask(&attributes, &mask);
  Started started;
  started.error = posix_spawnp(&started.pid, command[0].c_str(), nullptr, &attributes, pointers(command).data(),
                               pointers(environment).data());
  posix_spawnattr_destroy(&attributes);
  return started;
}

// The terminal sends Ctrl-C to the command by itself: only what was sent to us alone is passed on.
void pass_on(const siginfo_t& signal, pid_t to) {
  if (signal.si_code != SI_KERNEL) kill(to, signal.si_signo);
}

int wait_for(pid_t pid, const BlockedSignals& signals) {
  for (int status = 0;;) {
    const auto signal = signals.wait();
    if (signal.si_signo != SIGCHLD) {
      pass_on(signal, pid);
    } else if (waitpid(pid, &status, WNOHANG) == pid) {
      return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    }
  }
}

int not_started(const std::string& command, int error) {
  complain(command + ": " + std::strerror(error));
  return error == ENOENT ? 127 : 126;
}

}  // namespace

int exec(const std::string& config_file, std::vector<std::string> command) {
  if (command.empty()) return complain("exec needs a command after --"), 2;
  auto config = settings(config_file);
  if (!config) return 1;
  std::signal(SIGCHLD, SIG_DFL);  // if it came to us ignored, the command's exit code would be lost
  const BlockedSignals signals{SIGTERM, SIGINT, SIGHUP, SIGCHLD};
  Proxy proxy{for_one_command(std::move(*config))};
  if (const auto running = proxy.start(); !running) return complain(running.error().message);
  const auto listener = parse_endpoint(proxy.url().substr(std::strlen("http://"))).value();
  const auto started = start(command, proxy_variables(listener), signals.before());
  return started.error != 0 ? not_started(command[0], started.error) : wait_for(started.pid, signals);
}

}  // namespace penstock::app
