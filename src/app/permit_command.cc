// SPDX-License-Identifier: Apache-2.0
// `penstock permit`: runs a command while a permit is held, as flock does while it holds a lock. The command inherits
// the connection that holds it, so that the permit stays taken even if this process is killed.
#include <sys/socket.h>

#include <atomic>
#include <csignal>
#include <thread>

#include "app/child.h"
#include "app/commands.h"
#include "app/permit_client.h"
#include "app/settings.h"
#include "app/signals.h"
#include "config/checks.h"
#include "http/grammar.h"
#include "penstock/duration.h"

namespace penstock::app {

namespace {

// As sysexits.h has them.
constexpr int kUnavailable = 69, kTryLater = 75;

/// Says so when the permit is lost while the command runs.
class LossWatch {
 public:
  LossWatch(const base::UniqueFd& socket, const std::string& upstream)
      : socket_(socket), thread_([this, upstream] { watch(upstream); }) {}
  /// Returns the permit.
  ~LossWatch() {
    ends_ = true;
    shutdown(socket_.get(), SHUT_RDWR);
    thread_.join();
  }
  LossWatch(const LossWatch&) = delete;
  LossWatch& operator=(const LossWatch&) = delete;

 private:
  /// Nothing comes behind the first line until the end.
  void watch(const std::string& upstream) const {
    char bytes[256];
    ssize_t count = 0;
    do {
      count = recv(socket_.get(), bytes, sizeof bytes, 0);
    } while (count > 0 || (count < 0 && errno == EINTR));
    if (!ends_) complain("the permit of " + upstream + " is lost, and others may have it; the command goes on");
  }

  const base::UniqueFd& socket_;
  std::atomic<bool> ends_ = false;
  std::thread thread_;
};

/// Nothing: it has been said what is wrong.
std::optional<ProxyAddress> proxy_for(const PermitCommand& options) {
  const auto url = options.proxy.empty() ? process_environment("PENSTOCK_PROXY").value_or("") : options.proxy;
  if (!url.empty()) {
    auto proxy = parse_proxy(url);
    if (!proxy) complain("the proxy's URL is not of the form http://127.0.0.1:3128");
    return proxy;
  }
  const auto config = settings(options.config_file);
  if (!config) return std::nullopt;
  const auto listener = from_here(config->proxy.listen);
  if (listener.port == 0) return complain("proxy.listen has port 0: say --proxy URL"), std::nullopt;
  return ProxyAddress{.host = listener.address, .port = std::to_string(listener.port), .credentials = {}};
}

/// What is wrong with the words of the command line; empty: nothing.
std::string wrong_with(const PermitCommand& options, const std::vector<std::string>& command) {
  if (!config::all_of(options.upstream, "_.-"))
    return "permit needs the name of an upstream, as in penstock permit db -- COMMAND";
  if (command.empty()) return "permit needs a command behind --, as in penstock permit db -- COMMAND";
  if (!options.max_wait.empty() && !parse_duration(options.max_wait))
    return "--max-wait must be a duration such as 30s or 500ms";
  if (!http::is_field_value(options.group)) return "--group has a character that it cannot have";
  return {};
}

}  // namespace

int permit(const PermitCommand& options, const std::vector<std::string>& command) {
  if (const auto wrong = wrong_with(options, command); !wrong.empty()) return complain(wrong), 2;
  const auto proxy = proxy_for(options);
  if (!proxy) return 1;
  const PermitAsk ask{.upstream = options.upstream,
                      .weight = options.weight > 1 ? std::to_string(options.weight) : "",
                      .max_wait = options.max_wait,
                      .group = options.group};
  const auto socket = ask_for_permit(*proxy, ask);
  if (!socket) return complain(socket.error().why), socket.error().may_retry ? kTryLater : kUnavailable;
  std::signal(SIGCHLD, SIG_DFL);  // if inherited as ignored, the command's exit code would be lost
  const BlockedSignals signals{SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGCHLD};
  const LossWatch watch(*socket, options.upstream);
  const auto started = start(command, {}, signals.before());
  return started.error == 0 ? wait_for(started.pid, signals) : not_started(command[0], started.error);
}

}  // namespace penstock::app
