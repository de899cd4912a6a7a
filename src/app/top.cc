// SPDX-License-Identifier: Apache-2.0
// See top.h.
#include "app/top.h"

#include <poll.h>
#include <unistd.h>

#include <csignal>
#include <utility>

#include "app/top_text.h"

namespace penstock::app {

namespace {

using Steady = std::chrono::steady_clock;

constexpr int kEscapePatience = 50;  // ms for the rest of a key that begins with Escape
constexpr int kRedrawEach = 1000;    // ms, for ages
constexpr double kSilent = 4;        // s without an answer, of which it is told

double seconds_since(Steady::time_point then) { return std::chrono::duration<double>(Steady::now() - then).count(); }

}  // namespace

double wall_clock() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

Top::Top(const Endpoint& admin, ShownStatus first) : poll_(admin), where_(to_string(admin)) {
  latest_.status = std::move(first);
  latest_.now = wall_clock();
}

int Top::run() {
  while (!code_) {
    draw();
    wait();
  }
  return *code_;
}

TopNews Top::news() const {
  if (view_.held) return held_;
  auto now = latest_;
  now.now = wall_clock();
  now.age = seconds_since(answered_);
  if (now.trouble.empty() && now.age > kSilent) now.trouble = where_ + ": no answer yet";
  return now;
}

void Top::draw() {
  if (!terminal_.paint(top_screen(news(), view_, size_of_terminal()), inks_)) code_ = 1;
}

void Top::wait() {
  pollfd sources[] = {{STDIN_FILENO, POLLIN, 0}, {signals_.fd(), POLLIN, 0}, {poll_.fd(), POLLIN, 0}};
  const int ready = ::poll(sources, std::size(sources), keys_.waits() ? kEscapePatience : kRedrawEach);
  if (ready == 0) press_all(keys_.finish());
  if (ready <= 0) return;
  if (sources[1].revents != 0) {
    while (const int signal = signals_.take()) obey(signal);
  }
  if (sources[2].revents != 0) hear();
  if (sources[0].revents != 0) type();
}

void Top::hear() {
  auto body = poll_.take();
  if (!body) return;
  auto status = *body ? read_status(**body) : std::nullopt;
  latest_.trouble = status ? "" : safe_text(*body ? "what it says is no /status" : body->error());
  if (!status) return;
  compare(*status, latest_.status, seconds_since(answered_));
  latest_.status = std::move(*status);
  answered_ = Steady::now();
}

void Top::type() {
  const auto bytes = terminal_.read();
  if (!bytes) {
    code_ = 1;
    return;
  }
  press_all(keys_.read(*bytes));
}

void Top::press_all(const std::vector<Key>& keys) {
  for (const auto& key : keys) {
    const bool was_held = view_.held;
    auto shown = news();
    if (press(view_, key, shown.status)) code_ = 0;
    if (view_.held && !was_held) held_ = std::move(shown);
  }
}

void Top::obey(int signal) {
  switch (signal) {
    case SIGWINCH: break;  // the next picture has the new size
    case SIGTSTP: return suspend();
    case SIGCONT:  // it may have been stopped by SIGSTOP, and the shell had the terminal
      terminal_.leave();
      return terminal_.enter();
    default: code_ = 128 + signal;
  }
}

void Top::suspend() {
  terminal_.leave();
  stop_here();
  terminal_.enter();
}

}  // namespace penstock::app
