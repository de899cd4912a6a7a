// SPDX-License-Identifier: Apache-2.0
// A configuration's text: it is read in time that grows no faster than the text, and either refused with errors that
// have a place in it, or a configuration that nothing is wrong with, the same each time.
#include <time.h>

#include <algorithm>
#include <string>

#include "fuzz/fuzz.h"
#include "penstock/config.h"

namespace penstock::fuzz {
namespace {

/// Of this thread alone, so that a busy machine does not count.
double cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

std::optional<std::string> environment(const std::string& name) {
  return name == "HOME" ? std::optional<std::string>("/root") : std::nullopt;
}

void check(std::string_view text, const std::vector<ConfigError>& errors) {
  const auto lines = 1 + std::count(text.begin(), text.end(), '\n') + std::count(text.begin(), text.end(), '\r');
  must(!errors.empty(), "who refuses says why", text);
  for (const auto& error : errors) {
    must(error.line >= 1 && error.line <= lines && error.column >= 1, "an error has its place", text, to_string(error));
    must(!error.message.empty() && error.message.find('\n') == std::string::npos, "an error is one line", text,
         error.message);
  }
}

}  // namespace

void try_input(std::string_view input) {
  const double before = cpu_seconds();
  const auto config = read_config(input, "penstock.yaml", environment);
  const double seconds = cpu_seconds() - before;
  must(seconds < 1 + static_cast<double>(input.size()) * 100e-6, "reading takes no longer than the text", input);
  if (!config) return check(input, config.error());
  must(validate(*config).empty(), "nothing is wrong with what was read", input);
  must(read_config(input, "penstock.yaml", environment) == *config, "it is read the same each time", input);
}

}  // namespace penstock::fuzz
