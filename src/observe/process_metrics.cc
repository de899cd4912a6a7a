// SPDX-License-Identifier: Apache-2.0
// See process_metrics.h. Values that cannot be read are left out.
#include "observe/process_metrics.h"

#include <sys/resource.h>
#include <unistd.h>

#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace penstock::observe {
namespace {

using prometheus::MetricFamily;
using prometheus::MetricType;

MetricFamily family(std::string name, std::string help, MetricType type, double value) {
  prometheus::ClientMetric metric;
  if (type == MetricType::Counter) metric.counter.value = value;
  if (type == MetricType::Gauge) metric.gauge.value = value;
  return {std::move(name), std::move(help), type, {std::move(metric)}};
}

std::string contents(const char* path) {
  std::ifstream file{path};
  return {std::istreambuf_iterator<char>{file}, {}};
}

std::optional<double> number_at(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{}) return std::nullopt;
  return value;
}

// Field `wanted` of /proc/self/stat, numbered as in proc(5). The second field may hold blanks and brackets; it ends at
// the last ')'.
std::optional<double> stat_field(std::string_view stat, int wanted) {
  auto at = stat.rfind(')');
  for (int field = 2; field < wanted && at != std::string_view::npos; ++field) at = stat.find(' ', at + 1);
  if (at == std::string_view::npos) return std::nullopt;
  return number_at(stat.substr(at));
}

std::optional<double> booted_at() {
  const std::string stat = contents("/proc/stat");
  const auto at = stat.find("\nbtime ");
  if (at == std::string::npos) return std::nullopt;
  return number_at(std::string_view{stat}.substr(at + 7));
}

double cpu_seconds() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

// Not counting the descriptor that the count itself opens.
std::optional<double> open_descriptors() {
  std::error_code error;
  const std::filesystem::directory_iterator open{"/proc/self/fd", error};
  if (error) return std::nullopt;
  return static_cast<double>(std::distance(begin(open), end(open)) - 1);
}

void add_memory_and_start(std::vector<MetricFamily>& families) {
  const std::string stat = contents("/proc/self/stat");
  if (const auto bytes = stat_field(stat, 23)) {
    families.push_back(
        family("process_virtual_memory_bytes", "Virtual memory size in bytes.", MetricType::Gauge, *bytes));
  }
  if (const auto pages = stat_field(stat, 24)) {
    families.push_back(family("process_resident_memory_bytes", "SelfOwned memory size in bytes.", MetricType::Gauge,
                              *pages * static_cast<double>(::sysconf(_SC_PAGESIZE))));
  }
  const auto booted = booted_at();
  const auto ticks = stat_field(stat, 22);
  if (!booted || !ticks) return;
  families.push_back(family("process_start_time_seconds", "Start time of the process since 1970, in seconds.",
                            MetricType::Gauge, *booted + *ticks / static_cast<double>(::sysconf(_SC_CLK_TCK))));
}

void add_descriptors(std::vector<MetricFamily>& families) {
  if (const auto open = open_descriptors()) {
    families.push_back(family("process_open_fds", "Number of open file descriptors.", MetricType::Gauge, *open));
  }
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  families.push_back(family("process_max_fds", "Maximum number of open file descriptors.", MetricType::Gauge,
                            static_cast<double>(limit.rlim_cur)));
}

}  // namespace

std::vector<MetricFamily> process_metrics() {
  std::vector<MetricFamily> families;
  families.push_back(family("process_cpu_seconds_total", "Total user and system CPU time spent in seconds.",
                            MetricType::Counter, cpu_seconds()));
  add_memory_and_start(families);
  add_descriptors(families);
  return families;
}

}  // namespace penstock::observe
