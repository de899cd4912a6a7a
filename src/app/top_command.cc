// SPDX-License-Identifier: Apache-2.0
// `penstock top`: a screen where there is a terminal, else lines.
#include <unistd.h>

#include <chrono>
#include <iostream>
#include <thread>
#include <utility>

#include "app/admin_client.h"
#include "app/commands.h"
#include "app/settings.h"
#include "app/top.h"
#include "app/top_text.h"

namespace penstock::app {

namespace {

constexpr std::size_t kColumnsOfLines = 200;
constexpr auto kEachSecond = std::chrono::seconds(1);

/// Prints what the daemon says, as lines or as JSON, again and again unless once. Returns the exit code.
class TopLines {
 public:
  TopLines(const Endpoint& admin, const TopOptions& options) : admin_(admin), options_(options) {}

  int run() {
    if (!print(ask_status(admin_))) return 1;
    while (!options_.once && std::cout) {
      std::this_thread::sleep_for(kEachSecond);
      print(ask_status(admin_));
    }
    return 0;
  }

 private:
  /// False: there was nothing to print, and that has been said.
  bool print(const StatusBody& body) {
    const auto text = body ? text_of(*body) : "";
    const auto trouble = !body ? body.error() : text.empty() ? to_string(admin_) + ": what it says is no /status" : "";
    if (!trouble.empty() && trouble != trouble_)
      complain(safe_text(trouble) + "; is this the admin port of a Penstock?");
    trouble_ = trouble;
    std::cout << text << std::flush;
    return trouble.empty();
  }

  std::string text_of(const std::string& body) {
    auto status = read_status(body);
    if (!status) return "";
    if (options_.json) return in_one_line(body);
    compare(*status, before_, std::chrono::duration<double>(kEachSecond).count());
    before_ = *status;
    const auto lines = written(top_lines({.status = std::move(*status), .now = wall_clock()}, kColumnsOfLines), inks_);
    return options_.once ? lines : lines + "\n";
  }

  Endpoint admin_;
  TopOptions options_;
  TopInks inks_ = inks_of_environment();
  ShownStatus before_;
  std::string trouble_;
};

}  // namespace

int top(const TopOptions& options) {
  const auto admin = wanted_admin(options.config_file, options.admin);
  if (!admin) return 1;
  if (options.once || options.json || !is_screen()) return TopLines(*admin, options).run();
  const auto first = ask_status(*admin);
  if (!first) return complain(safe_text(first.error()) + "; is this the admin port of a running Penstock?");
  auto status = read_status(*first);
  if (!status) return complain(to_string(*admin) + ": what it says is no /status; this is not Penstock's admin port");
  return Top(*admin, std::move(*status)).run();
}

}  // namespace penstock::app
