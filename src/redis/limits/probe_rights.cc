// SPDX-License-Identifier: Apache-2.0
// One script call to ask for the right or to give it back; a message when the probe was answered.
#include "redis/limits/probe_rights.h"

#include <array>

namespace penstock::redis {

using flow::Time;

namespace {
constexpr std::string_view kOpened = "opened ";
constexpr std::string_view kWholeUpstream = "-";
}  // namespace

ProbeRights::ProbeRights(SharedRedis& shared, std::string_view upstream, flow::LimiterEvents& events)
    : shared_(shared),
      upstream_(upstream),
      events_(events),
      hash_(shared.config().prefix, upstream, shared.config().secret) {}

std::string ProbeRights::hash_of(std::string_view group) const {
  if (group.empty()) return std::string(kWholeUpstream);
  const auto digits = hash_(group);
  return {digits.data(), digits.size()};
}

bool ProbeRights::call(const std::string& hash, Time length, Call::Done done) {
  const std::string key = shared_.config().prefix + ":{" + upstream_ + "}:probe:" + hash;
  const std::string span = std::to_string(length);
  const std::array<std::string_view, 1> keys{key};
  const std::array<std::string_view, 2> arguments{shared_.who(), span};
  return shared_.call(Script::probe, keys, arguments, std::move(done));
}

bool ProbeRights::ask(Time now, std::string_view group, Time& until) {
  const std::string hash = hash_of(group);
  const auto answered = [self = self_.ref(), this, hash, name = std::string(group)](const Outcome& outcome, Time sent) {
    if (!self) return;
    const Time wait = outcome ? outcome->integer() : 0;  // a Redis that fails gives the right to each process
    if (wait <= 0) {
      asked_.erase(hash);
      return events_.may_probe(name, true, sent + flow::kProbeRight);
    }
    asked_[hash] = name;
    events_.may_probe(name, false, shared_.loop().now() + std::min(wait, flow::kProbeRight));
  };
  until = now + flow::kProbeRight;
  return !call(hash, flow::kProbeRight, answered);
}

void ProbeRights::end(std::string_view group, bool opened) {
  const std::string hash = hash_of(group);
  call(hash, 0, [](const Outcome&, Time) {});
  if (opened) shared_.redis().publish_to_all(upstream_ + " " + std::string(kOpened) + hash);
}

void ProbeRights::message(std::string_view words) {
  if (!words.starts_with(kOpened)) return;
  const auto asked = asked_.find(words.substr(kOpened.size()));
  if (asked == asked_.end()) return;
  const std::string group = asked->second;
  asked_.erase(asked);
  events_.opened(group);
}

}  // namespace penstock::redis
