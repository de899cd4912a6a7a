// SPDX-License-Identifier: Apache-2.0
// See top_terminal.h. The sequences are those that every terminal of the last thirty years knows: ECMA-48, and xterm's
// second screen.
#include "app/top_terminal.h"

#include <langinfo.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <clocale>
#include <cstdlib>
#include <string_view>

#include "app/top_text.h"

namespace penstock::app {

namespace {

// The second screen, no cursor, lines that are not wrapped; and all that undone.
constexpr std::string_view kEnter = "\x1b[?1049h\x1b[?25l\x1b[?7l", kLeave = "\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1049l";
constexpr std::string_view kHome = "\x1b[H", kRestOfLine = "\x1b[K", kPlain = "\x1b[0m";

bool write_all(std::string_view bytes) {
  while (!bytes.empty()) {
    const auto count = ::write(STDOUT_FILENO, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

std::string_view sequence_of(Ink ink, bool colours) {
  switch (ink) {
    case Ink::plain: return "";
    case Ink::bold: return "\x1b[1m";
    case Ink::dim: return "\x1b[2m";
    case Ink::good: return colours ? "\x1b[32m" : "";
    case Ink::warn: return colours ? "\x1b[33m" : "\x1b[1m";
    case Ink::bad: return colours ? "\x1b[31m" : "\x1b[1m";
  }
  return "";
}

std::string in_charset(const std::string& text, const TopInks& inks) { return inks.utf8 ? text : in_ascii(text); }

}  // namespace

TopInks inks_of_environment() {
  const char* no_color = std::getenv("NO_COLOR");
  std::setlocale(LC_CTYPE, "");
  return {.colours = !no_color || !*no_color, .utf8 = nl_langinfo(CODESET) == std::string_view("UTF-8")};
}

bool is_screen() {
  const char* kind = std::getenv("TERM");
  const bool paintable = kind && *kind && kind != std::string_view("dumb");
  return paintable && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
}

TopSize size_of_terminal() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) return {};
  return {size.ws_col, size.ws_row};
}

std::string painted(const std::vector<TopLine>& lines, const TopInks& inks) {
  std::string bytes(kHome);
  for (std::size_t at = 0; at < lines.size(); ++at) {
    if (at > 0) bytes += "\r\n";
    bytes += kRestOfLine;  // before the text: behind a full line the cursor is still on its last cell
    for (const auto& span : lines[at].spans) {
      const auto sequence = sequence_of(span.ink, inks.colours);
      bytes += lines[at].selected ? "\x1b[7m" : "";
      bytes += sequence;
      bytes += in_charset(span.text, inks);
      if (lines[at].selected || !sequence.empty()) bytes += kPlain;
    }
  }
  return bytes;
}

std::string written(const std::vector<TopLine>& lines, const TopInks& inks) {
  std::string text;
  for (const auto& line : lines) text += in_charset(plain_text(line), inks) + "\n";
  return text;
}

TopTerminal::TopTerminal() {
  tcgetattr(STDIN_FILENO, &before_);
  enter();
}

TopTerminal::~TopTerminal() { leave(); }

void TopTerminal::enter() {
  termios raw = before_;
  raw.c_lflag &= ~static_cast<tcflag_t>(ECHO | ICANON | IEXTEN);  // Ctrl-C and Ctrl-Z stay signals
  raw.c_iflag &= ~static_cast<tcflag_t>(IXON | ICRNL);
  raw.c_cc[VMIN] = 1;
  raw.c_cc[VTIME] = 0;
  tcsetattr(STDIN_FILENO, TCSAFLUSH, &raw);
  write_all(kEnter);
  entered_ = true;
}

void TopTerminal::leave() {
  if (!entered_) return;
  entered_ = false;
  write_all(kLeave);
  tcsetattr(STDIN_FILENO, TCSAFLUSH, &before_);
}

bool TopTerminal::paint(const std::vector<TopLine>& lines, const TopInks& inks) const {
  return write_all(painted(lines, inks));
}

std::optional<std::string> TopTerminal::read() const {
  char bytes[256];
  const auto count = ::read(STDIN_FILENO, bytes, sizeof bytes);
  if (count == 0 || (count < 0 && errno != EINTR)) return std::nullopt;
  return std::string(bytes, count < 0 ? 0 : static_cast<std::size_t>(count));
}

}  // namespace penstock::app
