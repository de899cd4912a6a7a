// SPDX-License-Identifier: Apache-2.0
// The terminal of `penstock top`: raw, with a screen of its own, and as it was before once this is gone.
#pragma once

#include <termios.h>

#include <optional>
#include <string>
#include <vector>

#include "app/top_line.h"
#include "app/top_screen.h"

namespace penstock::app {

/// How a terminal is written to.
struct TopInks {
  bool colours = true;  ///< false: no colours (NO_COLOR); bold, dim and reverse stay
  bool utf8 = true;     ///< false: ASCII alone
};

/// By NO_COLOR (no-color.org) and by the locale of the environment.
TopInks inks_of_environment();
/// stdin and stdout are a terminal that can be painted on.
bool is_screen();
/// Of the terminal at stdout.
TopSize size_of_terminal();

/// The bytes that paint lines over another picture; there are as many as the screen has rows.
std::string painted(const std::vector<TopLine>& lines, const TopInks& inks);
/// The lines without any escape sequence.
std::string written(const std::vector<TopLine>& lines, const TopInks& inks);

/// One at a time.
class TopTerminal {
 public:
  TopTerminal();
  ~TopTerminal();
  TopTerminal(const TopTerminal&) = delete;
  TopTerminal& operator=(const TopTerminal&) = delete;

  /// Gives the terminal back, as for another program, and takes it again.
  void leave();
  void enter();

  /// False: the terminal is gone.
  bool paint(const std::vector<TopLine>& lines, const TopInks& inks) const;
  /// What has been typed; waits for something. nullopt: the terminal is gone.
  std::optional<std::string> read() const;

 private:
  termios before_{};
  bool entered_ = false;
};

}  // namespace penstock::app
