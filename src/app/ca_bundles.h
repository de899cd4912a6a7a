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

/// Null: the file cannot be read.
std::optional<std::string> text_of(const std::string& path);

/// Only the certificates of a PEM text: no key, nor anything else.
std::string certificates_in(std::string_view pem);

/// The certificates of a file, or of all files of a folder; empty: there are none.
std::string certificates_at(const std::string& path);

/// The certificates that the operating system trusts, wherever it keeps them; empty: none were found.
std::string system_roots();

/// Two such texts as one, each certificate once.
std::string joined(std::string all, std::string_view more);

/// Files named after their content: concurrent runs do not disturb each other, and a later run reuses what an earlier
/// one made.
class CaBundles {
 public:
  /// In $XDG_CACHE_HOME/penstock or ~/.cache/penstock; in `otherwise` for a user without a home.
  CaBundles(const Environment& environment, const std::string& otherwise);
  explicit CaBundles(std::string folder) : folder_(std::move(folder)) {}

  /// In a folder that other users can read: $CACHE_DIRECTORY, as systemd sets it, or /var/cache/penstock. For root.
  static CaBundles for_all(const Environment& environment);

  using Made = std::expected<std::string, std::string>;  ///< the file's path, or why there is none
  /// Keeps a file `KIND-…ENDING`, readable by everybody or by its owner only. `seed` identifies the text; `text` is not
  /// called if the file exists already.
  Made keep(const std::string& name, const std::string& ending, const std::string& seed,
            const std::function<std::string()>& text, mode_t mode = kForAll) const;
  Made keep(const std::string& name, const std::string& ending, const std::string& text, mode_t mode = kForAll) const;

  /// Whether `path`, by its folder and name, is one of these files.
  bool has(const std::string& path) const;

  /// The first line of a file that was joined from the user's own, a comment in PEM and for wget: it tells runs inside
  /// this one which file that was.
  static std::string note_of(const std::string& path);
  /// What a variable named before we set it: for a file of ours the path in its note, or nothing.
  std::string before(const std::string& path) const;

  static constexpr mode_t kForAll = 0644, kForOwner = 0600;

 private:
  std::string folder_;
};

}  // namespace penstock::app
