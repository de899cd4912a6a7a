// SPDX-License-Identifier: Apache-2.0
// The gates of an upstream that pauses have closed: its own, under the empty group, and those of its groups. A gate is
// forgotten when it holds nothing back, so that an upstream without pauses pays for none. Internal to flow/.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text_map.h"
#include "flow/commands.h"
#include "flow/gate.h"
#include "flow/lanes.h"
#include "flow/limiter.h"

namespace penstock::flow {

class Gates {
 public:
  explicit Gates(const Lanes& lanes) : lanes_(lanes) {}

  /// Those of the scheduler, whether they have a gate or not.
  const Lanes& lanes() const { return lanes_; }
  bool any() const { return !by_group_.empty(); }

  /// A pause of that group, of that length or of the usual one, at most `most`. `refused`: the request whose answer
  /// asked for it, or which failed. `alone`: other processes are not told, and this one probes by itself. Gives its
  /// end.
  struct Pause {
    std::optional<Time> length;
    Time most;
    std::optional<std::uint32_t> refused;
    bool alone = false;
  };
  Time close(Time now, std::string_view group, const Pause& pause);
  /// The limiter told of a pause.
  void learn(Time now, std::string_view group, Time until);

  /// All pauses end at `latest` at the latest. True: some were to end later.
  bool shorten(Time latest);

  /// Until when a lane of the group is held back; may be past.
  Time until(std::string_view group) const;
  /// How many rounds of answers a request waits for at these gates after that, with so many before it.
  int rounds_until(std::string_view group, std::size_t before) const;
  bool has(std::string_view group) const { return by_group_.contains(group); }
  std::size_t count() const { return by_group_.size(); }
  bool any_closed(Time now) const;
  /// A request finds out whether the pause of the upstream is over.
  bool is_tried() const;
  /// The group of a gate whose pause is over and which a probe tries now, here or in another process; that of the
  /// upstream comes first. nullopt: there is none.
  std::optional<std::string_view> probed(Time now) const;
  /// Whether there are fewer than `most`. If not, those that are not needed any more are forgotten, but not for each
  /// call.
  bool has_room(Time now, std::size_t most);

  /// How many of `wanted` departures a lane of the group may be granted. If fewer, `stop` says what stops it.
  std::size_t admit(Time now, std::string_view group, std::size_t wanted, Booking& stop);
  /// So many are granted; the number marks them, 0: no gate counts them.
  std::uint32_t pass(std::string_view group, std::size_t count);
  void give_back(std::string_view group, const Departure& departure);
  /// The request takes off with this departure. True: its answer proves something.
  bool took_off(std::string_view group, std::uint32_t index, const Departure& departure);
  /// It was sent.
  void left(Time now, std::string_view group, std::uint32_t index);

  /// The request was answered, and not refused; or it ended without an answer. False: no gate waits for it.
  bool leave(std::string_view group, std::uint32_t index, bool answered);

  /// The answer to the request, if it passed, has begun, and whether it is a refusal is not known yet. That it has
  /// flown for long proves nothing before Gate::kProof from now.
  void await_judgement(Time now, std::string_view group, std::uint32_t index);

  /// Other processes tell of a gate.
  void hear(Time now, const PauseNews& news);

  /// Other processes are to be asked or told without a request that asks: from then on; Gate::kNever: not needed.
  Time tend_at() const { return tend_at_; }
  void tend(Time now);

  /// tell() will hand over the question whether this process may probe.
  bool asks() const;
  /// Hands over what other processes are to be asked or told.
  void tell(std::vector<Commands::Probe>& probes);

 private:
  static constexpr std::size_t kFew = 32;
  static constexpr Time kBetweenSweeps = 100'000;  // of a full table
  static constexpr Time kBetweenLooks = 50'000;    // at gates that are to be tended

  void tell(const Gate& gate, std::string_view group, Commands::Probe::What what);
  Gate& of(std::string_view group);
  Gate* find(std::string_view group);
  std::size_t allowance(Time now, Gate& gate, std::string_view group);
  void tend_by(const Gate& gate) { tend_at_ = std::min(tend_at_, gate.tend_at()); }
  bool waits_for(std::string_view group) const;
  void forget_done(std::string_view group);
  void forget_unused(Time now);
  void sweep(Time now);
  template <typename Use>
  void each_of(std::string_view group, Use use);

  const Lanes& lanes_;
  base::TextMap<Gate> by_group_;
  std::size_t most_ = kFew;  // gates, before unused ones are looked for
  Time swept_ = 0;
  Time tend_at_ = Gate::kNever;  // at the latest
  std::uint32_t serial_ = 0;     // of the last gate that closed
  std::vector<Commands::Probe> to_tell_;
};

}  // namespace penstock::flow
