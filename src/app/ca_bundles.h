// SPDX-License-Identifier: Apache-2.0
// Certificates that programs are to trust, found on this machine and kept in files of our own.
#pragma once

#include <sys/types.h>

#include <expected>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "penstock/config.h"

namespace penstock::app {

/// Nothing: it cannot be read.
std::optional<std::string> text_of(const std::string& path);

/// The certificates of a PEM text, and nothing else of it: not a key.
std::string certificates_in(std::string_view pem);

/// Those of a file, or of all files of a folder; empty: there is none.
std::string certificates_at(const std::string& path);

/// Those that the operating system trusts, wherever it has them; empty: they are nowhere.
std::string system_roots();

/// Two of these texts as one, each certificate once.
std::string joined(std::string all, std::string_view more);

/// Files named by what is in them: runs at the same time do not disturb each other, and what one run has made is there
/// for the next.
class CaBundles {
 public:
  /// In $XDG_CACHE_HOME/penstock or ~/.cache/penstock; for a user without a home in `otherwise`.
  CaBundles(const Environment& environment, const std::string& otherwise);

  /// In a folder that other users can read: $CACHE_DIRECTORY, as systemd names it, or /var/cache/penstock. For root.
  static CaBundles for_all(const Environment& environment);

  using Made = std::expected<std::string, std::string>;  ///< its path, or why there is none
  /// A file `KIND-…ENDING` for everybody to read, or its owner alone. `text` is told apart from others by `seed`, and
  /// not made where the file is there already.
  Made keep(const std::string& name, const std::string& ending, const std::string& seed,
            const std::function<std::string()>& text, mode_t mode = kForAll) const;
  Made keep(const std::string& name, const std::string& ending, const std::string& text, mode_t mode = kForAll) const;

  /// Whether a path is that of one of these files, by its folder and name.
  bool has(const std::string& path) const;

  /// What a file that is joined from the user's own begins with: in PEM and for wget a comment, for runs inside this
  /// one.
  static std::string note_of(const std::string& path);
  /// What a variable named before a run of ours: a file of ours stands for what its note names, or for nothing.
  std::string before(const std::string& path) const;

  static constexpr mode_t kForAll = 0644, kForOwner = 0600;

 private:
  explicit CaBundles(std::string folder) : folder_(std::move(folder)) {}

  std::string folder_;
};

}  // namespace penstock::app
