// SPDX-License-Identifier: Apache-2.0
// See atomic_file.h.
#include "app/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "base/unique_fd.h"

namespace penstock::app {

namespace {

using Done = std::expected<void, std::string>;

std::unexpected<std::string> failed(const std::string& what) {
  return std::unexpected(what + ": " + std::strerror(errno));
}

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(fd, text.data(), text.size());
    if (count < 0 && errno != EINTR) return false;
    if (count > 0) text.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

/// Leaves `errno` as it was.
void drop(int fd, const std::string& path) {
  const int error = errno;
  ::close(fd);
  ::unlink(path.c_str());
  errno = error;
}

/// The file was opened for its owner only, so no one else reads half of it.
Done fill(int fd, const std::string& path, const std::string& text, mode_t mode) {
  if (write_all(fd, text) && ::fchmod(fd, mode) == 0 && ::fsync(fd) == 0) return ::close(fd), Done{};
  drop(fd, path);
  return failed("cannot write " + path);
}

std::string folder_of(const std::string& path) { return std::filesystem::path(path).parent_path().string(); }

/// Writes the folder to disk, so that the name is there too. If that fails, the file exists nevertheless.
void sync_folder(const std::string& folder) {
  const base::UniqueFd opened(::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (opened) ::fsync(opened.get());
}

}  // namespace

Done make_folder(const std::string& path) {
  std::error_code unknown;
  if (path.empty() || std::filesystem::is_directory(path, unknown)) return {};
  if (auto above = make_folder(folder_of(path)); !above) return above;
  if (::mkdir(path.c_str(), S_IRWXU) == 0) return ::chmod(path.c_str(), S_IRWXU), Done{};  // whatever the umask took
  if (errno == EEXIST) return {};
  return failed("cannot make " + path);
}

Done create_file(const std::string& path, const std::string& text, mode_t mode) {
  if (auto folder = make_folder(folder_of(path)); !folder) return folder;
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR);
  if (fd < 0 && errno == EEXIST) return std::unexpected(path + " is there already");
  if (fd < 0) return failed("cannot make " + path);
  auto filled = fill(fd, path, text, mode);
  if (filled) sync_folder(folder_of(path));
  return filled;
}

Done replace_file(const std::string& path, const std::string& text, mode_t mode) {
  if (auto folder = make_folder(folder_of(path)); !folder) return folder;
  std::string temporary = path + ".XXXXXX";
  const int fd = ::mkostemp(temporary.data(), O_CLOEXEC);
  if (fd < 0) return failed("cannot make " + path);
  if (auto filled = fill(fd, temporary, text, mode); !filled) return filled;
  if (std::rename(temporary.c_str(), path.c_str()) == 0) return sync_folder(folder_of(path)), Done{};
  const int error = errno;
  ::unlink(temporary.c_str());
  errno = error;
  return failed("cannot make " + path);
}

}  // namespace penstock::app
