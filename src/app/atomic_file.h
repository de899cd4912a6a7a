// SPDX-License-Identifier: Apache-2.0
// Creates files that exist whole or not at all, with exactly the mode asked for, whatever the umask. For commands,
// which can wait for the disk. Errors are sentences that name the path.
#pragma once

#include <sys/types.h>

#include <expected>
#include <string>

namespace penstock::app {

/// Creates the folder and its missing parents, each for its owner only.
std::expected<void, std::string> make_folder(const std::string& path);

/// Creates a file, and its folder if need be. An existing file is left alone, and is an error.
std::expected<void, std::string> create_file(const std::string& path, const std::string& text, mode_t mode);

/// The same, but replaces an existing file atomically: a reader gets the old file or the new one.
std::expected<void, std::string> replace_file(const std::string& path, const std::string& text, mode_t mode);

}  // namespace penstock::app
