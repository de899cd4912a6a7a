// SPDX-License-Identifier: Apache-2.0
// The programs that `doctor` tries: what each is asked to do, and what to tell people whose program does not do it.
#pragma once

#include <string>
#include <vector>

namespace penstock::app {

struct Probe {
  std::string name;                  ///< "curl %": its version takes the place of the percent sign
  std::vector<std::string> version;  ///< succeeds where it is installed, and says a version
  std::vector<std::string> command;  ///< asks for the URL behind it, and prints what comes
  std::string about_proxy;           ///< what to do where it does not ask the proxy
  std::string about_trust;           ///< what to do where it does not trust the authority
  bool says_nothing = false;         ///< of what comes; only that it is content
};

/// How a probe says, on its last line, why there was nothing to try.
inline constexpr int kNotTried = 77;

/// For `java`, which takes a file: it is to be written at `java_file`.
std::vector<Probe> all_probes(const std::string& java_file);
extern const char* const kJavaProbe;

}  // namespace penstock::app
