// SPDX-License-Identifier: Apache-2.0
// `penstock reload`: SIGHUP to the process that answers at the admin port, and what came of it.
#include <sys/types.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "app/admin_client.h"
#include "app/commands.h"
#include "app/settings.h"

namespace penstock::app {

namespace {

using namespace std::chrono_literals;
using Json = nlohmann::json;

constexpr auto kPatience = 60s;  // for a reload, which reads files
constexpr auto kBetween = 20ms;  // from one look at /status to the next

/// What /status says of reloads.
struct Reloads {
  pid_t process = 0;
  std::string file;
  std::uint64_t count = 0;
  std::vector<std::string> errors;
};

std::optional<Reloads> read(const std::string& status) {
  const auto json = Json::parse(status, nullptr, false);
  if (!json.is_object() || !json.contains("reload") || !json["reload"].is_object()) return std::nullopt;
  const auto& reload = json["reload"];
  try {
    return Reloads{.process = reload.at("pid").get<pid_t>(),
                   .file = reload.at("file").get<std::string>(),
                   .count = reload.at("count").get<std::uint64_t>(),
                   .errors = reload.at("errors").get<std::vector<std::string>>()};
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

std::expected<Reloads, std::string> ask(const Endpoint& admin) {
  const auto answer = ask_admin(admin, "/status");
  const auto where = to_string(admin) + ": ";
  if (!answer) return std::unexpected(where + answer.error() + "; is this the admin port of a running Penstock?");
  if (!answer->fine()) return std::unexpected(where + answer->status + "; this is not Penstock's admin port");
  auto reloads = read(answer->body);
  if (!reloads) return std::unexpected(where + "nothing to reload: it was not started by `penstock run FILE`");
  return *std::move(reloads);
}

/// A number that is no process of one's own would be one's process group, or everybody's.
std::expected<void, std::string> hang_up(const Reloads& reloads) {
  if (reloads.process > 1 && ::kill(reloads.process, SIGHUP) == 0) return {};
  const auto process = "process " + std::to_string(reloads.process);
  if (errno == EPERM) return std::unexpected(process + " is another user's: run this as that user, or as root");
  return std::unexpected(process + " is not on this machine: send it SIGHUP there, as by docker kill --signal HUP");
}

/// What is said once there has been a reload more.
std::expected<Reloads, std::string> wait_for(const Endpoint& admin, std::uint64_t before) {
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (std::chrono::steady_clock::now() < until) {
    auto now = ask(admin);
    if (!now || now->count != before) return now;
    std::this_thread::sleep_for(kBetween);
  }
  return std::unexpected(to_string(admin) + ": no reload within a minute; its log says more");
}

/// 127.0.0.1:9128, or the same as a URL.
std::optional<Endpoint> endpoint_of(std::string url) {
  constexpr std::string_view kScheme = "http://";
  if (url.starts_with(kScheme)) url.erase(0, kScheme.size());
  if (url.ends_with('/')) url.pop_back();
  return parse_endpoint(url);
}

std::optional<Endpoint> admin_of(const std::string& config_file, const std::string& given) {
  if (!given.empty()) {
    const auto endpoint = endpoint_of(given);
    if (!endpoint) complain("--admin " + given + ": write it as in http://127.0.0.1:9128");
    return endpoint;
  }
  std::vector<ConfigError> warnings;
  const auto config = settings(config_file, warnings);
  if (!config) return std::nullopt;
  if (config->admin.listen.port != 0) return from_here(config->admin.listen);
  complain("admin.listen has port 0, so its real port is known to nobody here: say --admin URL");
  return std::nullopt;
}

int report(const Reloads& reloads) {
  if (reloads.errors.empty()) return std::cout << "reloaded " << reloads.file << '\n', 0;
  for (const auto& error : reloads.errors) std::cerr << error << '\n';
  return complain(reloads.file + " not loaded: the configuration stays as it was");
}

}  // namespace

int reload(const std::string& config_file, const std::string& admin) {
  const auto endpoint = admin_of(config_file, admin);
  if (!endpoint) return 1;
  const auto before = ask(*endpoint);
  if (!before) return complain(before.error());
  if (const auto sent = hang_up(*before); !sent) return complain(sent.error());
  const auto after = wait_for(*endpoint, before->count);
  return after ? report(*after) : complain(after.error());
}

}  // namespace penstock::app
