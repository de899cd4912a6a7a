// SPDX-License-Identifier: Apache-2.0
// Files that are there whole or not at all, of exactly the mode that is asked for, whatever the umask. For commands,
// which have the time to wait for the disk. Errors are sentences that name the path.
#pragma once

#include <sys/types.h>

#include <expected>
#include <string>

namespace penstock::app {

/// With those above it that are missing, each for its owner only.
std::expected<void, std::string> make_folder(const std::string& path);

/// Makes it, and its folder if need be; a file that is there already is not touched, and an error.
std::expected<void, std::string> create_file(const std::string& path, const std::string& text, mode_t mode);

/// The same, but takes the place of one that is there, at once: whoever opens it reads the old one or the new one.
std::expected<void, std::string> replace_file(const std::string& path, const std::string& text, mode_t mode);

}  // namespace penstock::app
