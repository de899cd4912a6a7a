// SPDX-License-Identifier: Apache-2.0
// How a booker comes to agree with Redis: after an outage it hands in what it granted alone; after lost keys all that
// it remembers, and then it waits until the other processes have done so too.
#include <utility>
#include <vector>

#include "redis/redis_booker.h"

namespace penstock::redis {

using flow::Time;
using Scope = flow::Booking::Scope;
using Status = BookReply::Status;

namespace {
constexpr std::size_t kStatesACall = 50;
constexpr std::size_t kMostStates = 20'000;  // of groups beyond this, what was forgotten is forgotten
constexpr Time kBetweenLooks = 10'000;
}  // namespace

void RedisBooker::redis_down() {
  if (standing_ == Standing::down) return;
  go_alone(Standing::down);
}

void RedisBooker::redis_up() { join(); }

void RedisBooker::go_alone(Standing standing) {
  standing_ = standing;
  look_again_.stop();
  resets_.clear();
  shadow_.go_alone(alive_);
  office_.standing_changed();
  wake_lanes();
}

/// Calls are executed in the order in which they are sent: whoever asks from now on asks a Redis that knows.
void RedisBooker::join() {
  if (!generation_.empty() && shadow_.has_unknown()) hand_in(Spelling::HandIn::afterwards);
  standing_ = Standing::together;
  look_again_.stop();
  shadow_.come_back();
  semaphores_.redis_back();
  const Time now = office_.loop().now();
  std::exchange(pauses_, {}).each(now, [&](const std::string& group, Time until) { send_pause(now, group, until); });
  office_.standing_changed();
  wake_lanes();
}

/// What they were told to wait for does not count any more.
void RedisBooker::wake_lanes() {
  const auto groups = told_.forget();
  events_.may_ask(Scope::upstream, {});
  for (const auto& group : groups) events_.may_ask(Scope::group, group);
}

/// Redis has lost its memory, as reply_ says.
void RedisBooker::generation_lost() {
  office_.agree_on_labels();
  generation_ = reply_.generation;
  shadow_.all_is_unknown();
  hand_in(Spelling::HandIn::last);
  office_.redis().publish_to_all(name_ + " " + std::string(kLost));
  go_alone(Standing::settling);
  look_again_.start(office_.loop().now() + kBetweenLooks);
}

void RedisBooker::wait_until_open() {
  generation_ = reply_.generation;
  go_alone(Standing::settling);
  look_again_.start(office_.loop().now() + kBetweenLooks);
}

void RedisBooker::hand_in(Spelling::HandIn what) {
  struct State {
    flow::LimitIndex limit;
    std::string group, text;
  };
  std::vector<State> states;
  shadow_.hand_in([&](flow::LimitIndex limit, std::string_view group, const std::string& text) {
    const bool told = spelling_.shares(limit) && !apart_.contains(limit, group);
    if (told && states.size() < kMostStates) states.push_back({limit, std::string(group), text});
  });
  std::size_t at = 0;
  do {
    const std::size_t end = std::min(at + kStatesACall, states.size());
    const bool last = end == states.size();
    call_.clear();
    spelling_.begin_hand_in(call_, generation_,
                            what == Spelling::HandIn::last && !last ? Spelling::HandIn::more_follows : what);
    for (; at < end; ++at) spelling_.add_state(call_, states[at].limit, key_of(states[at].group), states[at].text);
    call(Script::hand_in,
         [life = life_, matters = last && what == Spelling::HandIn::last](const Outcome& outcome, Time) {
           if (*life && (*life)->worked(outcome) && matters) (*life)->handed_in(*outcome);
         });
  } while (at < states.size());
}

void RedisBooker::handed_in(const Reply& reply) {
  if (standing_ == Standing::settling && reply.elements().next().text() == "open") join();
}

/// Asks for nothing: says that this process is alive, and learns how things stand.
void RedisBooker::look(Time now) {
  permits_.clear();
  semaphores_.tell(permits_);
  const std::size_t semaphores = permits_.size();
  send_ask(now, {.count = 0, .without = apart_.of({})}, true, permits_,
           [life = life_, semaphores, changes = changes_](const Outcome& outcome, Time sent) {
             if (!*life || (*life)->standing_ == Standing::down) return;
             const bool of_these_limits = (*life)->changes_ == changes;
             of_these_limits ? (*life)->looked(outcome, semaphores, sent)
                             : (*life)->look((*life)->office_.loop().now());
           });
}

void RedisBooker::looked(const Outcome& outcome, std::size_t semaphores, Time sent) {
  const bool settling = standing_ == Standing::settling;
  if (!outcome && outcome.error().kind == FailureKind::corrupt) return looked_in_vain(outcome.error());
  const bool understood = read(outcome, 0, semaphores, sent);
  if (!understood || (settling && reply_.status == Status::closed)) {
    if (settling) look_again_.start(office_.loop().now() + kBetweenLooks);
  } else if (reply_.status == Status::closed) {
    wait_until_open();
  } else if (reply_.status == Status::stale) {
    if (reply_.generation != generation_) generation_lost();
  } else {
    generation_ = reply_.generation;
    semaphores_.heard(reply_.permits, sent);
    if (settling) join();
  }
}

/// A limit whose value is not ours is left out of the next look; any other such value is met by those who ask.
void RedisBooker::looked_in_vain(const Failure& why) {
  const bool found = set_apart({.without = apart_.of({})}, why);
  if (standing_ != Standing::settling) return;
  if (!found) return join();
  look_again_.start(office_.loop().now() + kBetweenLooks);
}

}  // namespace penstock::redis
