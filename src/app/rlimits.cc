// SPDX-License-Identifier: Apache-2.0
// See rlimits.h.
#include "app/rlimits.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <new>
#include <string_view>

namespace penstock::app {

namespace {
/// For the event log, name servers, Redis, and the loop.
constexpr std::size_t kOfOurOwn = 64;
}  // namespace

std::size_t allow_open_files() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  getrlimit(RLIMIT_NOFILE, &limit);
  return limit.rlim_cur;
}

std::optional<std::string> too_few_files(const Config& config, std::size_t allowed) {
  const auto most = [](const UpstreamSettings& settings) {
    return static_cast<std::size_t>(std::max(settings.max_concurrent, tunnels_of(settings)));
  };
  std::size_t upstreams = most(config.unmatched);
  for (const auto& quota : config.quotas) upstreams += most(quota.settings);
  for (const auto& upstream : config.upstreams) upstreams += upstream.quota.empty() ? most(upstream.settings) : 0;
  upstreams = std::min(upstreams, config.caps.connections);  // each serves a connected client
  const std::size_t wanted = config.caps.connections + upstreams + kOfOurOwn;
  if (allowed == 0 || wanted <= allowed) return std::nullopt;
  return "at most " + std::to_string(allowed) + " files may be open (ulimit -Hn): caps.connections (" +
         std::to_string(config.caps.connections) + ") of clients and those to upstreams (" + std::to_string(upstreams) +
         ") may need " + std::to_string(wanted) + "; clients will wait to be let in";
}

void end_when_out_of_memory() {
  std::set_new_handler([] {
    constexpr std::string_view kLine = "penstock: out of memory\n";  // a longer message may need memory
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, kLine.data(), kLine.size());
    _exit(kOutOfMemory);
  });
}

}  // namespace penstock::app
