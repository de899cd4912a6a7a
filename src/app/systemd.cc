// SPDX-License-Identifier: Apache-2.0
// See systemd.h. The only file that uses libsystemd.
#include "app/systemd.h"

#include <systemd/sd-daemon.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

namespace penstock::app {

namespace {

void tell(const std::string& lines) { sd_notify(0, lines.c_str()); }

struct FreeNames {
  void operator()(char** names) const {
    for (char** name = names; *name; ++name) std::free(*name);
    std::free(static_cast<void*>(names));
  }
};

std::unexpected<std::string> not_taken(const std::string& why) {
  return std::unexpected("sockets handed over: " + why);
}

}  // namespace

std::expected<Sockets, std::string> take_sockets() {
  char** list = nullptr;
  const int count = sd_listen_fds_with_names(1, &list);
  if (count < 0) return not_taken(std::strerror(-count));
  const std::unique_ptr<char*, FreeNames> names(list);
  Sockets sockets;
  for (int i = 0; i < count; ++i) {
    const std::string_view name = list[i];
    if (name != "proxy" && name != "admin") {
      return not_taken("one is named '" + std::string(name) + "'; FileDescriptorName= is to be proxy or admin");
    }
    int& place = name == "proxy" ? sockets.proxy : sockets.admin;
    if (place >= 0) return not_taken("more than one is named " + std::string(name));
    place = SD_LISTEN_FDS_START + i;
  }
  return sockets;
}

void leave_sockets() { sd_listen_fds(1); }

/// A unit may have several, separated by colons; the first is ours.
std::string state_folder() {
  const char* const folders = std::getenv("STATE_DIRECTORY");
  const std::string all = folders ? folders : "";
  const std::string first = all.substr(0, all.find(':'));
  return first.starts_with('/') ? first : "";
}

void tell_ready(const std::string& status) { tell("READY=1\nSTATUS=" + status); }

void tell_reloading() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  tell("RELOADING=1\nMONOTONIC_USEC=" + std::to_string(std::chrono::duration_cast<Duration>(now).count()));
}

void tell_stopping() { tell("STOPPING=1\nSTATUS=draining"); }

Heartbeat::Heartbeat(const Proxy& proxy) {
  std::uint64_t limit = 0;  // microseconds
  if (sd_watchdog_enabled(0, &limit) <= 0) return;
  const Duration every{static_cast<std::int64_t>(limit / 2)};
  thread_ = std::jthread([this, &proxy, every](const std::stop_token& end) { live(end, proxy, every); });
}

void Heartbeat::live(const std::stop_token& end, const Proxy& proxy, Duration every) {
  std::unique_lock lock(mutex_);
  while (!end.stop_requested() && proxy.responds()) {
    tell("WATCHDOG=1");
    ending_.wait_for(lock, end, every, [] { return false; });
  }
}

}  // namespace penstock::app
