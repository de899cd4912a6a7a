// SPDX-License-Identifier: Apache-2.0
// Diagnostics on stderr: `2026-11-21T01:35:12.123456Z warn text`. Written at once, and dropped if stderr does not take
// them at once: the loop never waits for stderr.
#include "observe/notices.h"

#include <poll.h>
#include <unistd.h>

#include <chrono>

#include "observe/line_text.h"

namespace penstock::observe {
namespace {

constexpr std::size_t kLongestNotice = 2 * 1024;  // with its timestamp well below what a pipe takes at once

std::int64_t wall_now() {
  using namespace std::chrono;
  return duration_cast<microseconds>(system_clock::now().time_since_epoch()).count();
}

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

// One notice is one line, whatever a peer put into it.
void append_text(std::string& line, std::string_view text) {
  for (const char c : text.substr(0, kLongestNotice)) line += is_control(c) ? ' ' : c;
  line += '\n';
}

std::string line_of(const Notice& notice) {
  std::string line;
  append_timestamp(line, wall_now());
  line.append(" ").append(name_of(notice.level)).append(" ");
  append_text(line, notice.text);
  return line;
}

void write_now(const std::string& line) {
  pollfd watched{STDERR_FILENO, POLLOUT, 0};
  if (::poll(&watched, 1, 0) <= 0 || (watched.revents & POLLOUT) == 0) return;
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace

std::string_view name_of(LogLevel level) {
  switch (level) {
    case LogLevel::debug: return "debug";
    case LogLevel::info: return "info";
    case LogLevel::warn: return "warn";
    case LogLevel::error: return "error";
    case LogLevel::off: return "off";
  }
  return "";
}

void say_plainly(std::string_view text) {
  std::string line;
  append_text(line, text);
  write_now(line);
}

NoticeSink notices_to_stderr(LogLevel level) {
  return [level](const Notice& notice) {
    if (notice.level >= level && notice.level != LogLevel::off) write_now(line_of(notice));
  };
}

}  // namespace penstock::observe
