// SPDX-License-Identifier: Apache-2.0
// `penstock reload`: SIGHUP to the process that answers at the admin port, and what came of it.
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "app/admin_client.h"
#include "app/commands.h"
#include "app/settings.h"
#include "base/unique_fd.h"

namespace penstock::app {

namespace {

using namespace std::chrono_literals;
using Json = nlohmann::json;

constexpr auto kReloadPatience = 60s;                     // for a reload, which reads files
constexpr auto kBetween = 20ms, kLongestBetween = 640ms;  // from one look at /status to the next: at first, and later

/// What /status says of reloads.
struct Reloads {
  pid_t process = 0;
  std::string file;
  std::uint64_t count = 0;
  std::vector<std::string> errors;
};

std::optional<Reloads> read(const Json& json) {
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
  const auto status = Json::parse(answer->body, nullptr, false);
  if (status.is_object() && status.value("draining", Json(false)) == true)
    return std::unexpected(where + "it is shutting down");
  auto reloads = read(status);
  if (!reloads) return std::unexpected(where + "nothing to reload: it was not started by `penstock run FILE`");
  return *std::move(reloads);
}

bool is_penstock(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/comm");
  std::string name;
  return std::getline(file, name) && name == "penstock";
}

/// SIGHUP ends what does not expect it, and the number may be of another machine, or of anybody who took the port. So
/// the process is held before it is looked at.
std::expected<void, std::string> hang_up(const Reloads& reloads) {
  const auto process = "process " + std::to_string(reloads.process);
  const auto elsewhere = std::unexpected(
      process + " is no Penstock of this machine: send it SIGHUP there, as by docker kill --signal HUP");
  if (reloads.process < 1) return elsewhere;
  const base::UniqueFd held(static_cast<int>(::syscall(SYS_pidfd_open, reloads.process, 0)));
  if (held.get() < 0 || !is_penstock(reloads.process)) return elsewhere;
  if (::syscall(SYS_pidfd_send_signal, held.get(), SIGHUP, nullptr, 0) == 0) return {};
  return std::unexpected(process + ": " + std::strerror(errno) + "; run this as its user, or as root");
}

/// What is said once there has been a reload more.
std::expected<Reloads, std::string> wait_for(const Endpoint& admin, std::uint64_t before) {
  const auto until = std::chrono::steady_clock::now() + kReloadPatience;
  for (auto between = kBetween; std::chrono::steady_clock::now() < until;
       between = std::min(2 * between, kLongestBetween)) {
    auto now = ask(admin);
    if (!now || now->count != before) return now;
    std::this_thread::sleep_for(between);
  }
  return std::unexpected(to_string(admin) + ": no reload within a minute; its log says more");
}

int report(const Reloads& reloads) {
  if (reloads.errors.empty()) return std::cout << "reloaded " << reloads.file << '\n', 0;
  for (const auto& error : reloads.errors) std::cerr << error << '\n';
  return complain(reloads.file + " not loaded: the configuration stays as it was");
}

}  // namespace

int reload(const std::string& config_file, const std::string& admin) {
  const auto endpoint = wanted_admin(config_file, admin);
  if (!endpoint) return 1;
  const auto before = ask(*endpoint);
  if (!before) return complain(before.error());
  if (const auto sent = hang_up(*before); !sent) return complain(sent.error());
  const auto after = wait_for(*endpoint, before->count);
  return after ? report(*after) : complain(after.error());
}

}  // namespace penstock::app
