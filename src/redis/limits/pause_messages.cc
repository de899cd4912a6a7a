// SPDX-License-Identifier: Apache-2.0
// One script call to ask for the right to probe or to give it back; messages for the rest.
#include "redis/limits/pause_messages.h"

#include <algorithm>
#include <array>
#include <utility>

#include "redis/client/scripts.h"
#include "redis/limits/pause_words.h"

namespace penstock::redis {

using flow::Time;
using What = flow::PauseNews::What;

namespace {
constexpr std::string_view kOpened = "opened ", kPauseOf = "pause-of ", kShorten = "shorten ";
}  // namespace

PauseMessages::PauseMessages(SharedRedis& shared, std::string_view upstream, flow::LimiterEvents& events)
    : shared_(shared),
      upstream_(upstream),
      events_(events),
      hash_(shared.config().prefix, upstream, shared.config().secret) {}

bool PauseMessages::call(const std::string& hash, Time length, Call::Done done) {
  const std::string key = shared_.config().prefix + ":{" + upstream_ + "}:probe:" + hash;
  const std::string span = std::to_string(length);
  const std::array<std::string_view, 1> keys{key};
  const std::array<std::string_view, 2> arguments{shared_.process_name(), span};
  return shared_.call(Script::probe, keys, arguments, std::move(done));
}

/// A Redis that fails gives the right to each process, from when that is known.
bool PauseMessages::ask_to_probe(std::string_view group) {
  const std::string hash = pause_name(hash_, group);
  return !call(hash, flow::kProbeRight,
               [self = self_.ref(), hash, name = std::string(group)](const Outcome& outcome, Time sent) {
                 if (!self) return;
                 const Time wait = outcome ? std::clamp<Time>(outcome->integer(), 0, flow::kProbeRight) : 0;
                 const Time now = self->shared_.loop().now();
                 const Time until = wait > 0 ? now + wait : (outcome ? sent : now) + flow::kProbeRight;
                 if (wait > 0) {
                   self->elsewhere_.note(now, hash, name, until);
                 } else {
                   self->elsewhere_.take(hash);
                 }
                 self->events_.heard({wait == 0 ? What::may_probe : What::may_not_probe, name, until});
               });
}

void PauseMessages::end_probe(std::string_view group, bool opened) {
  const std::string hash = pause_name(hash_, group);
  call(hash, 0, [](const Outcome&, Time) {});
  if (opened) publish(kOpened, hash);
}

void PauseMessages::publish(std::string_view word, std::string_view rest) {
  shared_.publish_to_all(upstream_ + " " + std::string(word) + std::string(rest));
}

void PauseMessages::tell(std::string_view scope, Time length) {
  publish(kPauseOf, pause_message(scope, length, shared_.process_name()));
}

void PauseMessages::tell_begun(std::string_view group, Time length) {
  publish(kPauseWord, pause_message(pause_name(hash_, group), length, shared_.process_name()));
}

void PauseMessages::tell_shortened(Time length) {
  announced_.shorten(shared_.loop().now() + length);
  publish(kShorten, std::string(shared_.process_name()) + " " + std::to_string(length));
}

void PauseMessages::message(std::string_view words) {
  if (words.starts_with(kOpened)) opened(words.substr(kOpened.size()));
  if (words.starts_with(kPauseWord)) paused(words.substr(kPauseWord.size()));
  if (words.starts_with(kPauseOf)) scope_paused(words.substr(kPauseOf.size()));
  if (words.starts_with(kShorten)) shortened(words.substr(kShorten.size()));
}

bool PauseMessages::answer(std::string_view group, flow::Booking& booking) {
  if (announced_.empty()) return false;
  const auto of_all = announced_.take(kWholeUpstream);
  const auto until = of_all || group.empty() ? of_all : announced_.take(GroupKey(hash_, group));
  if (!until) return false;
  booking.scope = of_all ? flow::Booking::Scope::upstream : flow::Booking::Scope::group;
  booking.limited_by = flow::kPause;
  booking.ask_again = booking.not_before = *until;
  return true;
}

void PauseMessages::opened(std::string_view hash) {
  announced_.take(hash);
  if (const auto group = elsewhere_.take(hash)) events_.heard({What::opened, *group});
}

/// The process that tells it has a gate already. Its own message may have been long on its way, and the pause be over.
void PauseMessages::paused(std::string_view words) {
  const auto read = read_pause(words);
  const Time now = shared_.loop().now();
  if (read && read->sender != shared_.process_name()) announced_.note(now, read->target, now + read->length);
}

void PauseMessages::scope_paused(std::string_view words) {
  const auto read = read_pause(words);
  if (!read || read->target.empty() || read->sender == shared_.process_name()) return;
  events_.heard({What::begun, read->target, shared_.loop().now() + read->length});
}

/// The process that tells it has done so already, and may have begun another pause since.
void PauseMessages::shortened(std::string_view words) {
  const auto read = read_pause_length(words);
  if (!read || read->target == shared_.process_name()) return;
  announced_.shorten(shared_.loop().now() + read->length);
  events_.heard({What::shortened, {}, shared_.loop().now() + read->length});
}

}  // namespace penstock::redis
