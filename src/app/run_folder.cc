// SPDX-License-Identifier: Apache-2.0
// See run_folder.h. The lock is on the folder itself, so no file of it can be missing.
#include "app/run_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

namespace penstock::app {

namespace {

namespace fs = std::filesystem;
constexpr const char* kFolderName = "penstock-exec-";
constexpr int kTries = 10;

std::string base_of(const Environment& environment) {
  for (const char* name : {"XDG_RUNTIME_DIR", "TMPDIR"}) {
    const auto folder = environment(name).value_or("");
    std::error_code unknown;
    if (folder.starts_with('/') && fs::is_directory(folder, unknown)) return folder;
  }
  return "/tmp";
}

/// The folder's lock, if nobody has it and the folder is still there; it must be this user's, and no link.
base::UniqueFd locked(const std::string& path) {
  base::UniqueFd folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat opened {
  }, there{};
  if (!folder || ::fstat(folder.get(), &opened) != 0 || opened.st_uid != ::geteuid()) return base::UniqueFd();
  if (::flock(folder.get(), LOCK_EX | LOCK_NB) != 0) return base::UniqueFd();
  const bool same =
      ::lstat(path.c_str(), &there) == 0 && there.st_ino == opened.st_ino && there.st_dev == opened.st_dev;
  return same ? std::move(folder) : base::UniqueFd();
}

void remove_folders_of_killed_runs(const std::string& base) {
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(base, failed)) {
    const auto path = entry.path().string();
    if (!entry.path().filename().string().starts_with(kFolderName)) continue;
    if (const auto lock = locked(path)) fs::remove_all(path, failed);
  }
}

}  // namespace

std::expected<RunFolder, std::string> RunFolder::make(const Environment& environment) {
  const auto base = base_of(environment);
  remove_folders_of_killed_runs(base);
  for (int tries = 0; tries < kTries; ++tries) {
    std::string path = base + "/" + kFolderName + "XXXXXX";
    if (!::mkdtemp(path.data())) break;
    // Another run may have taken it for one of a killed run, before it was locked: then there is another try.
    if (auto lock = locked(path)) return RunFolder(std::move(path), std::move(lock));
  }
  return std::unexpected("cannot make a folder in " + base + ": " + std::strerror(errno));
}

RunFolder::~RunFolder() {
  std::error_code failed;
  if (lock_) fs::remove_all(path_, failed);
}

}  // namespace penstock::app
