// SPDX-License-Identifier: Apache-2.0
// The programs that `doctor` tries: what each is asked to do, and the advice if it fails.
#pragma once

#include <string>
#include <vector>

namespace penstock::app {

struct Probe {
  std::string name;                  ///< "curl %": the percent sign is replaced by the version
  std::vector<std::string> version;  ///< succeeds if the program is installed, and prints a version
  std::vector<std::string> command;  ///< requests the URL appended to it, and prints the answer
  std::string about_proxy;           ///< advice if it does not use the proxy
  std::string about_trust;           ///< advice if it does not trust the authority
  bool says_nothing = false;         ///< does not print the answer, only succeeds
};

/// The exit code of a probe that had nothing to try; its last line says why.
inline constexpr int kNotTried = 77;

/// The java probe takes a source file: write kJavaProbe to `java_file`.
std::vector<Probe> all_probes(const std::string& java_file);
extern const char* const kJavaProbe;

}  // namespace penstock::app
