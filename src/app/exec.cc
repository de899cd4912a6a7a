// SPDX-License-Identifier: Apache-2.0
// `penstock exec`: a proxy in this process for the life of one command, which finds it in its environment. Otherwise
// the command must notice nothing: it gets the original signal mask, and signals and its exit code pass through.
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <ctime>
#include <iostream>
#include <thread>

#include "app/admin_client.h"
#include "app/ca_environment.h"
#include "app/child.h"
#include "app/commands.h"
#include "app/exec_report.h"
#include "app/exec_summary.h"
#include "app/limit_words.h"
#include "app/run_folder.h"
#include "app/settings.h"
#include "app/signals.h"
#include "app/systemd.h"
#include "penstock/proxy.h"
#include "penstock/quotas.h"

namespace penstock::app {

namespace {

/// Where no file says otherwise, the command reaches what it would reach by itself.
Config with_all_reachable(Config config) {
  config.access.allow = {"0.0.0.0/0", "::/0"};
  config.access.connect_anywhere = true;
  return config;
}

// On loopback, where the command runs, whatever the file says of listeners, of clients elsewhere, and of passwords.
Config for_one_command(Config config, const std::string& events, const Endpoint& admin) {
  config.proxy.listen = {"127.0.0.1", 0};
  config.admin.listen = admin;
  config.access.clients = {"loopback"};
  config.access.users.clear();
  if (config.log.events == "stdout" || config.log.events == "stderr") config.log.events = "off";
  if (!events.empty()) config.log.events = events;
  return config;
}

/// A program that bypasses the proxy says nothing of it, and obeys no limit.
void tell_unless(bool asked, const LogConfig& log) {
  if (asked || log.level > LogLevel::info) return;
  complain("no request came by: the command asked for nothing, or went past the proxy (docs/clients.md says which do)");
}

/// What a run goes by, and where its files are: null for a run with a file, whose certificates are the user's.
struct Prepared {
  Config config;
  std::optional<RunFolder> folder;

  std::string path() const { return folder ? folder->path() : ""; }
};

/// The key of the authority must not reach a core file, nor another process of this user.
std::optional<Prepared> without_file(const HostLimits& hosts) {
  auto config = config_of(hosts);
  if (!config) return complain(config.error()), std::nullopt;
  auto folder = RunFolder::make();
  if (!folder) return complain(folder.error()), std::nullopt;
  ::prctl(PR_SET_DUMPABLE, 0);
  make_own_authority(*config);
  return Prepared{with_all_reachable(*std::move(config)), *std::move(folder)};
}

std::optional<Prepared> prepare(const ExecOptions& options) {
  if (options.hosts.any()) {
    auto hosts = options.hosts;
    if (hosts.redis.empty()) hosts.redis = process_environment("PENSTOCK_REDIS_URL").value_or("");
    return without_file(hosts);
  }
  auto config = settings(options.config_file);
  if (!config) return std::nullopt;
  if (options.config_file.empty()) config = with_all_reachable(*std::move(config));
  return Prepared{*std::move(config), std::nullopt};
}

/// What the command would find in its environment, and what its requests would be held to.
int print(const Config& config, const Variables& variables) {
  for (const auto& upstream : config.upstreams) {
    const auto settings = effective_settings(config, upstream);
    std::cout << "# " << upstream.name << ": at most " << settings.max_concurrent << " in flight\n";
    for (const auto& limit : settings.limits)
      std::cout << "#   " << limit_in_words(limit, !config.redis.empty()) << '\n';
  }
  std::cout << lines_of(variables);
  return 0;
}

/// Runs the command while the proxy runs. `told`: there was an event.
int run_command(const std::vector<std::string>& command, const Variables& variables, const BlockedSignals& signals,
                const Proxy& proxy, const std::atomic<bool>& told, const LogConfig& log) {
  const auto started = start(command, variables, signals.before());
  if (started.error != 0) return not_started(command[0], started.error);
  const int code = wait_for(started.pid, signals);
  const bool connected = proxy.snapshot().connections > 0;  // its request is yet to be read, or to be reported
  tell_unless(connected || told, log);
  return code;
}

bool wants(ExecOptions::Summary summary) {
  return summary != ExecOptions::Summary::on_terminal ? summary != ExecOptions::Summary::no
                                                      : ::isatty(STDERR_FILENO) == 1;
}

/// Limits without Redis are each process' own: those of a daemon with the same file, and those of this command.
void warn_of_daemon(const Config& config, const std::string& file) {
  const bool limited = std::ranges::any_of(
      config.upstreams, [&](const auto& one) { return !effective_settings(config, one).limits.empty(); });
  const auto admin = admin_of(config);
  if (!config.redis.empty() || !limited || !admin) return;
  const auto answer = ask_admin(*admin, "/readyz");
  if (!answer || answer->body != "ready\n") return;
  complain(
      "a Penstock runs already, and this command's limits are its own. To be held to that one's: eval \"$(penstock "
      "env --config " +
      file + ")\". To share them: redis.url");
}

/// For at most a second, since the command need not wait for a Redis that is away. Loopback answers within a
/// millisecond. A command that begins while the first connection to Redis is being made would be held to this process'
/// own limits.
void wait_for_redis(const Proxy& proxy) {
  constexpr auto kForRedis = 1s;
  const auto until = std::chrono::steady_clock::now() + kForRedis;
  const auto is_away = [](const RedisSnapshot& redis) { return !redis.up; };
  for (auto now = proxy.snapshot(); std::ranges::any_of(now.redis, is_away); now = proxy.snapshot()) {
    if (std::chrono::steady_clock::now() > until) return;
    std::this_thread::sleep_for(5ms);
  }
}

bool is_silent(const ExecOptions& options, const LogConfig& log) {
  return options.summary == ExecOptions::Summary::no || log.level > LogLevel::warn;
}

/// What went wrong is said without a terminal, too: the command itself may show no more than an error.
std::string said_at_the_end(const ExecOptions& options, const LogConfig& log, const ExecSummary& summary) {
  using Summary = ExecOptions::Summary;
  if (options.summary == Summary::json) return summary.json();
  if (wants(options.summary)) return summary.text();
  return is_silent(options, log) ? "" : summary.failures();
}

/// Not its arguments, which may hold secrets. `wall`: µs since 1970.
std::string title_of(const std::string& command, int code, std::int64_t wall) {
  const std::time_t seconds = wall / 1'000'000;
  std::tm utc{};
  char when[64] = "";
  if (gmtime_r(&seconds, &utc)) std::strftime(when, sizeof when, " at %F %T UTC", &utc);
  return "as penstock exec " + command + " has left it" + when + ", with exit code " + std::to_string(code);
}

/// What the events come to.
struct AtTheEnd {
  ExecSummary summary;
  ExecReport report;
};

/// Nothing: it has been said what is wrong. An empty address: no admin port is wanted.
std::optional<Endpoint> admin_port(const std::string& wanted) {
  if (wanted.empty()) return Endpoint{};
  auto endpoint = parse_endpoint(wanted);
  if (!endpoint) complain("--admin: '" + wanted + "' is not address:port, such as 127.0.0.1:9128");
  return endpoint;
}

/// `told` and `end` outlive the proxy, which sends its last events as it ends.
int serve(const ExecOptions& options, const std::vector<std::string>& command, const Prepared& prepared,
          const BlockedSignals& signals, AtTheEnd& end) {
  std::atomic<bool> told = false;
  const auto admin = admin_port(options.admin);
  if (!admin) return 1;
  Proxy proxy{for_one_command(prepared.config, options.events, *admin)};
  proxy.observe([&](const Event&) { told = true; });
  proxy.observe([&](const Event& event) { end.summary.add(event); });
  if (options.report) proxy.observe([&](const Event& event) { end.report.add(event); });
  if (const auto running = proxy.start(); !running) return complain(running.error().message);
  const auto listener = parse_endpoint(proxy.url().substr(std::strlen("http://"))).value();
  const auto variables = variables_for(prepared.config, listener, prepared.path());
  if (!variables) return 1;
  if (options.print) return print(prepared.config, *variables);
  if (!proxy.admin_url().empty()) complain("the page is at " + proxy.admin_url() + "/");
  wait_for_redis(proxy);
  const int code = run_command(command, *variables, signals, proxy, told, prepared.config.log);
  if (!options.report) return code;
  Config config = proxy.config();
  config.proxy.listen = listener;
  const auto last = proxy.snapshot();
  end.report.keep(last, config, title_of(command[0], code, last.taken_at));
  return code;
}

/// The command's code stays what it is, unless it says that all is well.
int code_with_report(const ExecOptions& options, const ExecReport& report, int code) {
  if (!options.report) return code;
  const auto written = report.write(*options.report);
  if (!written) complain(written.error());
  return written || code != 0 ? code : 1;
}

}  // namespace

int exec(const ExecOptions& options, const std::vector<std::string>& command) {
  if (command.empty() && !options.print) return complain("exec needs a command"), 2;
  if (!options.hosts.any() && !options.hosts.redis.empty())
    return complain("--redis is for what --limit says; a file has redis.url"), 2;
  if (const auto wrong = options.report ? ExecReport::wrong_with(*options.report) : std::nullopt)
    return complain(*wrong);
  leave_sockets();
  std::signal(SIGCHLD, SIG_DFL);  // if inherited as ignored, the command's exit code would be lost
  const BlockedSignals signals{SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGCHLD};
  const auto prepared = prepare(options);
  if (!prepared) return 1;
  if (!prepared->folder && !options.print && !is_silent(options, prepared->config.log))
    warn_of_daemon(prepared->config, options.config_file);
  AtTheEnd end;
  const int code = serve(options, command, *prepared, signals, end);
  if (!options.print) std::cerr << said_at_the_end(options, prepared->config.log, end.summary);
  return code_with_report(options, end.report, code);
}

}  // namespace penstock::app
