// SPDX-License-Identifier: Apache-2.0
// `penstock run`: the daemon, which is a Proxy and a thread that waits for signals.
#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <vector>

#include "app/commands.h"
#include "app/how_limited.h"
#include "app/rlimits.h"
#include "app/settings.h"
#include "app/signals.h"
#include "app/systemd.h"
#include "observe/notices.h"
#include "penstock/proxy.h"

namespace penstock::app {

namespace {

// The address as configured: url() says how to reach it from here, which for 0.0.0.0 is less than the truth.
std::string bound(const Endpoint& listener, const std::string& url) {
  const auto port = std::stoi(url.substr(url.rfind(':') + 1));
  return "http://" + to_string(Endpoint{listener.address, static_cast<std::uint16_t>(port)});
}

std::string places(const Config& config, const Proxy& proxy) {
  return "listening on " + bound(config.proxy.listen, proxy.url()) + ", admin on " +
         bound(config.admin.listen, proxy.admin_url());
}

void announce(const Config& config, const Proxy& proxy) {
  observe::say_plainly("penstock " + version() + " " + places(config, proxy));
  const auto say = observe::notices_to_stderr(config.log.level);
  for (auto& text : how_all_are_limited(config, proxy.url())) say({.level = LogLevel::info, .text = std::move(text)});
}

// At most as many lines as a pipe takes at once: the pipe is not read meanwhile, and what follows must not be lost.
void tell(const std::vector<ConfigError>& faults) {
  constexpr std::size_t kMost = 20;
  for (std::size_t i = 0; i < std::min(faults.size(), kMost); ++i) observe::say_plainly(to_string(faults[i]));
  if (faults.size() > kMost) observe::say_plainly("and " + std::to_string(faults.size() - kMost) + " faults more");
}

bool reload(Proxy& proxy, const std::string& config_file) {
  const auto reloaded = proxy.reload(config_file);
  const auto say = observe::notices_to_stderr(proxy.config().log.level);
  if (reloaded) return say({.level = LogLevel::info, .text = "reloaded " + config_file}), true;
  tell(reloaded.error());
  say({.level = LogLevel::error, .text = config_file + " not loaded: the configuration stays as it was"});
  return false;
}

void hang_up(Proxy& proxy, const std::string& config_file) {
  tell_reloading();
  const auto reopened = proxy.reopen_log();
  const bool fine = config_file.empty() || reload(proxy, config_file);
  tell_ready(places(proxy.config(), proxy) + (fine ? "" : "; the file has faults, and was not loaded") +
             (reopened ? "" : "; " + reopened.error().message));
}

// Variables that change how other programs behave, above all those built on libcurl.
void warn_of_environment(const LogConfig& log) {
  std::string all;
  for (const auto* name : {"http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY",
                           "no_proxy", "NO_PROXY", "SSLKEYLOGFILE", "CURL_HOME", "NETRC", "HOSTALIASES"}) {
    const char* value = std::getenv(name);
    if (value && *value) all.append(all.empty() ? "" : ", ").append(name);
  }
  if (all.empty()) return;
  observe::notices_to_stderr(log.level)({LogLevel::warn, "set in the environment, and without effect here: " + all});
}

}  // namespace

int run(const std::string& config_file) {
  std::vector<ConfigError> warnings;
  const auto config = settings(config_file, warnings);
  if (!config) return 1;
  const auto sockets = take_sockets();
  if (!sockets) return complain(sockets.error());
  const BlockedSignals signals{SIGTERM, SIGINT, SIGHUP};
  std::signal(SIGPIPE, SIG_IGN);
  end_when_out_of_memory();
  const std::size_t files = allow_open_files();
  Proxy proxy{*config};
  proxy.listen_on(sockets->proxy, sockets->admin);
  proxy.keep_state_in(state_folder());
  if (!config_file.empty()) proxy.reloads_on_hangup(config_file);
  if (const auto started = proxy.start(); !started) return complain(started.error().message);
  announce(*config, proxy);
  for (const auto& warning : warnings) {
    observe::notices_to_stderr(config->log.level)({.level = LogLevel::warn, .text = to_string(warning)});
  }
  warn_of_environment(config->log);
  if (auto few = too_few_files(*config, files)) {
    observe::notices_to_stderr(config->log.level)({.level = LogLevel::warn, .text = *std::move(few)});
  }
  tell_ready(places(*config, proxy));
  const Heartbeat heartbeat{proxy};
  while (signals.wait().si_signo == SIGHUP) hang_up(proxy, config_file);
  end_at_next_signal();
  tell_stopping();
  if (!proxy.drain(proxy.config().proxy.grace)) {
    observe::say_plainly("penstock: not everything was finished within proxy.grace");
  }
  return 0;
}

}  // namespace penstock::app
