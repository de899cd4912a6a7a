// SPDX-License-Identifier: Apache-2.0
// A folder for the files of one run, which only this user can read. It is removed when the run ends; what a killed run
// has left is removed by the next.
#pragma once

#include <expected>
#include <optional>
#include <string>

#include "base/unique_fd.h"
#include "penstock/config.h"

namespace penstock::app {

class RunFolder {
 public:
  /// In the first of $XDG_RUNTIME_DIR, $TMPDIR and /tmp in which it can be made. The error is a sentence.
  static std::expected<RunFolder, std::string> make(const Environment& environment = process_environment);
  ~RunFolder();
  RunFolder(RunFolder&&) = default;
  RunFolder& operator=(RunFolder&&) = delete;

  const std::string& path() const { return path_; }

 private:
  static std::optional<RunFolder> make_in(const std::string& base);
  RunFolder(std::string path, base::UniqueFd lock) : path_(std::move(path)), lock_(std::move(lock)) {}

  std::string path_;
  base::UniqueFd lock_;  // held as long as the folder is in use; the kernel frees it however the process ends
};

}  // namespace penstock::app
