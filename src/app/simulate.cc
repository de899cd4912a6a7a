// SPDX-License-Identifier: Apache-2.0
// `penstock simulate`: what other settings would have made of the requests of an event log. Opens the files that it is
// given by name, and none that a log names.
#include <cstdio>
#include <iostream>
#include <memory>
#include <vector>

#include "app/commands.h"
#include "app/log_router.h"
#include "app/settings.h"
#include "config/units.h"
#include "replay/comparison.h"
#include "replay/event_log_reader.h"

namespace penstock::app {

namespace {

constexpr std::size_t kPiece = 256 * 1024;

struct Closing {
  void operator()(std::FILE* file) const {
    if (file != stdin) std::fclose(file);
  }
};

/// False: it could not be read to its end.
bool read_file(replay::EventLogReader& reader, const std::string& name) {
  const std::unique_ptr<std::FILE, Closing> file(name == "-" ? stdin : std::fopen(name.c_str(), "rb"));
  if (!file) return false;
  reader.begin(name);
  std::vector<char> piece(kPiece);
  bool wanted = true;
  while (wanted) {
    const auto size = std::fread(piece.data(), 1, piece.size(), file.get());
    if (size == 0) break;
    wanted = reader.read({piece.data(), size});
  }
  reader.end();
  return std::ferror(file.get()) == 0;
}

/// "NAME=RATE"; a name may have an equals sign in it, a rate has none.
bool take_quota(LogRouter& router, const std::string& text) {
  const auto equals = text.rfind('=');
  const auto rate = equals == std::string::npos ? std::nullopt : config::parse_rate(text.substr(equals + 1));
  if (!rate) return complain("--quota " + text + ": no NAME=RATE, as in github=5000/h"), false;
  if (router.set_quota(text.substr(0, equals), *rate)) return true;
  return complain("--quota " + text +
                  ": neither the new settings nor the log has such an upstream; one that draws on a quota is played "
                  "under the quota's name"),
         false;
}

void tell_of_routes(const LogRouter& router, const Config& config, std::vector<std::string>& unknown) {
  const auto say = [&](std::uint64_t count, const std::string& words) {
    if (count > 0) unknown.push_back(std::to_string(count) + words);
  };
  if (!config.redis.empty()) {
    unknown.emplace_back(
        "what other processes did whose logs are not here: limits shared through Redis are replayed as those of one "
        "process");
  }
  say(router.routed_anew(),
      " requests whose upstream the settings do not have go by host and path, and as if to port 443 or 80");
  say(router.without_header(), " requests have no group in the log, which has no headers: they are one group");
  say(router.with_secret_path(), " paths lack a part that is secret: groups by path may be fewer than they were");
}

}  // namespace

int simulate(const SimulateOptions& options) {
  const auto config = settings(options.config_file);
  const auto before = options.old_file.empty() ? std::optional<Config>() : settings(options.old_file);
  if (!config || (!options.old_file.empty() && !before)) return 1;
  LogRouter router(*config);
  std::optional<LogRouter> old_router;
  replay::RequestLog log;
  std::vector<replay::EventLogReader::Placing> placings{[&](const auto& line) { return router.place(line); }};
  if (before) {
    old_router.emplace(*before);
    placings.emplace_back([&](const auto& line) { return old_router->place(line); });
  }
  {
    replay::EventLogReader reader(log, std::move(placings));
    for (const auto& name : options.files) {
      if (!read_file(reader, name)) return complain("cannot read " + replay::printable(name, 4096));
    }
  }
  if (log.size() == 0) return complain("no request in " + std::to_string(log.lines) + " lines: is this an event log?");
  for (const auto& quota : options.quotas) {
    if (!take_quota(router, quota)) return 1;
  }
  const replay::Side now{router.upstreams(), &log.places[0]};
  const auto old = before ? std::optional(replay::Side{old_router->upstreams(), &log.places[1]}) : std::nullopt;
  auto comparison = replay::compare(log, now, old ? &*old : nullptr);
  tell_of_routes(router, *config, comparison.unknown);
  std::cout << (options.json ? in_json(comparison, log) : in_words(comparison, log));
  return 0;
}

}  // namespace penstock::app
