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
#include <vector>

namespace penstock::app {

namespace {

namespace fs = std::filesystem;
constexpr const char* kFolderName = "penstock-exec-";
constexpr int kTries = 10;

/// Where it may be, the best first.
std::vector<std::string> bases(const Environment& environment) {
  std::vector<std::string> all;
  for (const char* name : {"XDG_RUNTIME_DIR", "TMPDIR"}) {
    auto folder = environment(name).value_or("");
    if (folder.starts_with('/')) all.push_back(std::move(folder));
  }
  all.emplace_back("/tmp");
  return all;
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

/// Null: none can be made there; errno says why.
std::optional<RunFolder> RunFolder::make_in(const std::string& base) {
  remove_folders_of_killed_runs(base);
  for (int tries = 0; tries < kTries; ++tries) {
    std::string path = base + "/" + kFolderName + "XXXXXX";
    if (!::mkdtemp(path.data())) break;
    // Another run may have taken it for one of a killed run, before it was locked: then there is another try.
    if (auto lock = locked(path)) return RunFolder(std::move(path), std::move(lock));
  }
  return std::nullopt;
}

std::expected<RunFolder, std::string> RunFolder::make(const Environment& environment) {
  for (const auto& base : bases(environment)) {
    if (auto made = make_in(base)) return *std::move(made);
  }
  return std::unexpected("cannot make a folder for certificates in /tmp: " + std::string(std::strerror(errno)));
}

RunFolder::~RunFolder() {
  std::error_code failed;
  if (lock_) fs::remove_all(path_, failed);
}

}  // namespace penstock::app
