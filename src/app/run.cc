// SPDX-License-Identifier: Apache-2.0
// `penstock run`: the daemon, which is a Proxy and a thread that waits for signals.
#include <iostream>

#include "app/commands.h"
#include "app/governed.h"
#include "app/settings.h"
#include "app/signals.h"
#include "observe/notices.h"
#include "penstock/proxy.h"

namespace penstock::app {

namespace {

// The address as configured: url() says how to reach it from here, which for 0.0.0.0 is less than the truth.
std::string bound(const Endpoint& listener, const std::string& url) {
  const auto port = std::stoi(url.substr(url.rfind(':') + 1));
  return "http://" + to_string(Endpoint{listener.address, static_cast<std::uint16_t>(port)});
}

void announce(const Config& config, const Proxy& proxy) {
  const std::string line = "penstock " + version() + " listening on " + bound(config.proxy.listen, proxy.url()) +
                           ", admin on " + bound(config.admin.listen, proxy.admin_url()) + "\n";
  std::cerr << line;
  const auto say = observe::notices_to_stderr(config.log.level);
  for (auto& text : all_governed(config, proxy.url())) say({.level = LogLevel::info, .text = std::move(text)});
}

}  // namespace

int run(const std::string& config_file) {
  const auto config = settings(config_file);
  if (!config) return 1;
  const BlockedSignals signals{SIGTERM, SIGINT, SIGHUP};
  std::signal(SIGPIPE, SIG_IGN);
  Proxy proxy{*config};
  if (const auto started = proxy.start(); !started) return complain(started.error().message);
  announce(*config, proxy);
  while (signals.wait().si_signo == SIGHUP) proxy.reopen_log();
  end_at_next_signal();
  if (!proxy.drain(config->proxy.grace)) complain("not everything was finished within proxy.grace");
  return 0;
}

}  // namespace penstock::app
