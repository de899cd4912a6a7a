// SPDX-License-Identifier: Apache-2.0
// See processes_file.h. The file holds one number and a line feed.
#include "app/processes_file.h"

#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <memory>
#include <utility>

#include "app/atomic_file.h"

namespace penstock::app {

namespace {

constexpr std::int64_t kLasts = 600'000'000;
constexpr int kMost = 10'000;

int read_number(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  int number = 0;
  if (!std::getline(file, line)) return 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), number);
  const bool is_one = error == std::errc{} && end == line.data() + line.size();
  return is_one && number > 0 && number <= kMost ? number : 0;
}

}  // namespace

ProcessesFile::ProcessesFile(loop::Loop& loop, std::string path, NoticeSink notices)
    : loop_(loop),
      path_(std::move(path)),
      notices_(std::move(notices)),
      kept_(path_.empty() ? 0 : read_number(path_)) {}

ProcessesFile::~ProcessesFile() { self_.expire(); }

void ProcessesFile::seen(std::int64_t now, int processes) {
  if (path_.empty() || processes <= 0) return;
  if (processes >= kept_) {
    most_ = 0;
    if (processes > kept_) keep(processes);
    return;
  }
  if (std::exchange(most_, std::max(most_, processes)) == 0) since_ = now;
  if (now - since_ >= kLasts) keep(std::exchange(most_, 0));
}

void ProcessesFile::keep(int processes) {
  kept_ = processes;
  const auto wrong = std::make_shared<std::string>();
  loop_.offload(
      [path = path_, processes, wrong] {
        auto written = replace_file(path, std::to_string(processes) + "\n", S_IRUSR | S_IWUSR);
        if (!written) *wrong = std::move(written.error());
      },
      [self = self_.ref(), wrong] {
        if (self && !wrong->empty()) self->complain(*wrong);
      });
}

void ProcessesFile::complain(const std::string& why) {
  if (std::exchange(complained_, true)) return;
  notices_({LogLevel::warn, "how many processes there are is not kept over a restart: " + why});
}

}  // namespace penstock::app
