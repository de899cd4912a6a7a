// SPDX-License-Identifier: Apache-2.0
// One telling takes several calls if there is much to tell.
#include "redis/limits/memory_replay.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <utility>

namespace penstock::redis {

using flow::Time;

namespace {
constexpr std::size_t kStatesACall = 50;
constexpr std::size_t kMostStates = 20'000;  // states of groups beyond this number stay forgotten
}  // namespace

/// Each call may fail by itself.
struct MemoryReplay::Telling {
  std::uint64_t number;
  bool is_all;
  std::size_t unanswered = 0;
  bool heard = true, stale = false, open = false;
  std::int64_t latest = 0;  // the script time at which Redis heard the last part
};

MemoryReplay::MemoryReplay(UpstreamCalls& calls, Shadow& shadow, const Quarantine& quarantine, Done done)
    : calls_(calls), shadow_(shadow), quarantine_(quarantine), done_(std::move(done)) {}

void MemoryReplay::all_is_lost(const std::string& generation) {
  if (booked_in_.empty()) booked_in_ = generation;  // else it is an earlier one: nothing was handed in since
  shadow_.all_is_unknown();
}

std::vector<MemoryReplay::State> MemoryReplay::states(std::uint64_t& telling) const {
  std::vector<State> states;
  telling = shadow_.replay([&](flow::LimitIndex limit, std::string_view group, const auto& text, const auto& untold) {
    const bool told = calls_.args().shares(limit) && !quarantine_.contains(limit, group);
    if (told && states.size() < kMostStates) states.push_back({limit, std::string(group), text, untold});
  });
  return states;
}

/// The generation's name tells the latest script time that an old head knows. What Redis granted at a later one is not
/// in that head, and nothing of what is being told is.
std::string MemoryReplay::lately() {
  const std::int64_t told = shadow_.recent().tell();
  const std::string& generation = calls_.memory().generation();
  const auto mark = generation.rfind('~');
  std::int64_t found = 0;
  if (mark != std::string::npos) std::from_chars(&generation[mark] + 1, &generation.back() + 1, found);
  return found == 0 ? std::string() : std::to_string(shadow_.recent().since(found) + told);
}

void MemoryReplay::start(ScriptArgs::Replay what) {
  const auto telling = std::make_shared<Telling>(Telling{.number = 0, .is_all = shadow_.is_all_unknown()});
  const auto states = this->states(telling->number);
  const std::string lately = this->lately();
  const std::string_view booked_in = telling->is_all ? std::string_view(booked_in_) : std::string_view();
  const auto more_follows =
      what == ScriptArgs::Replay::last ? ScriptArgs::Replay::more_follows : ScriptArgs::Replay::more_follows_afterwards;
  std::size_t at = 0;
  do {
    const std::size_t end = std::min(at + kStatesACall, states.size());
    calls_.begin_replay(end == states.size() ? what : more_follows, {.booked_in = booked_in, .lately = lately});
    for (; at < end; ++at) {
      const auto& [limit, group, text, untold] = states[at];
      calls_.add_state(limit, group, text, untold);
    }
    ++telling->unanswered;
    const bool called = calls_.replay([alive = calls_.ref(), this, telling](const redis::Outcome& outcome, Time) {
      if (alive) part_answered(*telling, outcome);
    });
    if (!called) {
      telling->heard = false;
      return this->end(*telling);
    }
  } while (at < states.size());
}

/// The telling is heard if each part is. Otherwise all is told once more; parts that were heard count twice then, which
/// grants nothing twice.
void MemoryReplay::part_answered(Telling& telling, const redis::Outcome& outcome) {
  std::string_view status;
  if (calls_.worked(outcome)) {
    auto elements = outcome->elements();
    status = elements.next().text();
    telling.latest = std::max(telling.latest, elements.next().integer());
  }
  telling.stale |= status == "stale";
  telling.open = status == "open";
  telling.heard &= telling.open || status == "closed";
  if (--telling.unanswered == 0) end(telling);
}

void MemoryReplay::end(const Telling& telling) {
  if (!shadow_.replayed(telling.number, telling.heard)) return;
  if (telling.heard) shadow_.recent().heard(telling.latest);
  const bool all = telling.is_all && telling.heard;
  if (all) booked_in_.clear();
  done_({.all = all, .stale = telling.stale, .open = telling.open});
}

}  // namespace penstock::redis
