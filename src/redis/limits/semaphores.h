// SPDX-License-Identifier: Apache-2.0
// The shared semaphores of one upstream, its own and those of its groups: what this process holds of each, how many
// permits each lane waits for, what starts without a call, when leases are renewed, and which flights are cut because a
// lease could not be. For shared_limiter.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "flow/limiter.h"
#include "loop/iteration_end.h"
#include "loop/loop.h"
#include "loop/timer.h"
#include "penstock/limits.h"
#include "redis/limits/permits.h"

namespace penstock::redis {

class Semaphores {
 public:
  /// Identifies a semaphore, as its script call does.
  struct Named {
    flow::LimitIndex limit = flow::kNoLimit;  ///< its number, which never changes; its present place: place_of()
    std::string group;                        ///< its hash; empty: the upstream's own
    bool operator==(const Named&) const = default;
    auto operator<=>(const Named&) const = default;
  };
  /// `renew` calls the permits script for one semaphore with this text, and sees to it that renewed() is called if the
  /// script answers.
  using Renew = std::function<void(const Named& which, const std::string& told)>;
  using KeyOf = std::function<std::string(std::string_view group)>;

  Semaphores(loop::Loop& loop, const std::vector<LimitConfig>& limits, flow::LimiterEvents& events, KeyOf key_of,
             Renew renew);

  /// Replaces the limits. A semaphore with the name and scope of one before stays the same; a new one gets a number
  /// that none had before. All permits of semaphores that are gone are returned.
  void change(const std::vector<LimitConfig>& limits);
  /// The present place of a semaphore's number; kNoLimit: it is gone.
  flow::LimitIndex place_of(flow::LimitIndex number) const;
  const LimitConfig& config(flow::LimitIndex number) const;
  /// The number of the semaphore at this place.
  flow::LimitIndex at(flow::LimitIndex place) const;
  /// So many departures of this group were granted before. New semaphores register them in Redis as far as there is
  /// room; none is cut for lack of room.
  void count_existing(std::string_view group, std::size_t departures);
  /// Returns everything and ends all renewals.
  void hand_back();

  bool any() const;
  /// All limits are shared semaphores: a lane with a permit may leave.
  bool permits_only() const { return permits_only_; }
  /// What an answer tells of one semaphore.
  struct Answer {
    std::int64_t granted = 0;  ///< permits ever granted to this process
    std::int64_t lost = 0;     ///< of the permits that were told
    std::int64_t sharers = 0;  ///< processes that share the capacity; 0: no other waits
    std::int64_t look = 0;     ///< look again after so long (µs); 0: never, -1: some are kept for us now
  };
  static constexpr std::size_t kNumbers = 4;  ///< per semaphore in an answer
  /// Whether the numbers of an answer are possible for an ask that told of so many semaphores.
  static bool plausible(const std::vector<std::int64_t>& permits, std::size_t semaphores);
  /// Spare permits that one ask has claimed, for each of its semaphores in order.
  struct Claim;
  using Claims = std::vector<Claim>;
  /// To be called when an ask is sent. Appends to `told` what the ask tells of each semaphore, in the order of the
  /// configuration.
  Claims claim(std::string_view group, std::vector<std::string>& told);
  /// The same for the upstream's own semaphores, without claiming any permits.
  void tell(std::vector<std::string>& told);
  /// The answer to what tell() told.
  void heard(const std::vector<std::int64_t>& permits, flow::Time sent);
  /// The answer to an ask: the numbers of each semaphore; how many departures it granted; and whether the lane now
  /// waits for `awaited` permits of semaphore `awaits`.
  void answered(std::string_view group, const Claims& claims, const std::vector<std::int64_t>& permits, flow::Time sent,
                std::size_t departures, flow::LimitIndex awaits, std::size_t awaited);
  /// An ask sent before the last change was granted so many departures: semaphores that it did not tell of adopt them.
  void adopt_unclaimed(std::string_view group, const Claims& claims, std::size_t departures);
  /// The ask failed or its answer came too late; `foreign`: it met a foreign value.
  void failed(std::string_view group, const Claims& claims, bool foreign = false);

  /// What the permits at hand allow: how many departures, and which semaphore allows no more.
  struct AtHand {
    std::size_t count = 0;
    flow::LimitIndex by = flow::kNoLimit;  ///< its number, if there are fewer than were wanted
  };
  /// For a lane that wants so many departures and is held by no other limit. If the permits at hand are enough, or if
  /// the lane stands in line for the rest, they are used, and Redis need not be asked; otherwise nothing is done.
  std::optional<AtHand> take_at_hand(std::string_view group, std::size_t wanted);
  /// What the permits at hand allow while Redis is gone. The answer is final, since nothing else grants any;
  /// use_alone() takes them.
  AtHand at_hand_alone(std::string_view group, std::size_t wanted);
  /// Uses so many of these; `awaited` is how many permits of `awaits` the lane still waits for.
  void use_alone(std::string_view group, std::size_t departures, flow::LimitIndex awaits, std::size_t awaited);
  /// So many departures were granted without Redis, whatever is held.
  void began_alone(std::string_view group, std::size_t departures);
  /// A flight ended, or a departure is not taken. True: its permits are at hand.
  bool ended(std::string_view group);
  /// The lane no longer waits for a permit.
  void gave_up(std::string_view group);

  /// A renewal was answered. `opens_in`: for how long a young generation still grants nothing; 0: it grants.
  void renewed(const Named& which, flow::Time sent, const Answer& answer, flow::Time opens_in = 0);
  /// A renewal met a foreign value: Redis grants no permits.
  void met_foreign(const Named& which);
  /// A message from another process's script: "take": permits are kept for this process; "share": the capacity is
  /// shared among so many; "look": look again after so many µs, 0: not.
  void message(const Named& which, std::string_view word, std::int64_t number);
  /// Whether messages arrive from now on.
  void set_hears(bool hears);
  /// What Redis' clock shows when the loop's shows 0, and the round trip to Redis.
  void set_clock(std::int64_t at_zero, flow::Time round_trip) { clock_at_zero_ = at_zero, round_trip_ = round_trip; }

  /// How many flights may go on without a lease: what `whenDown` leaves to this process of each semaphore.
  using Allowance = std::function<std::int64_t(flow::LimitIndex)>;
  void set_allowance(Allowance allowance) { allowance_ = std::move(allowance); }
  /// Redis does not answer, or is not to be asked: the permits held are all there are.
  void redis_gone();
  /// Redis is back and is told of all permits that are held.
  void redis_back();

 private:
  struct Definition {
    flow::LimitIndex number;
    flow::LimitIndex place;  // kNoLimit: gone
    LimitConfig config;
    bool is_new = true;   // since the last change
    bool changed = true;  // by the last change, in any way
    bool of_group() const { return config.per == LimitConfig::Per::group; }
    flow::Time lease() const { return std::get<SemaphoreConfig>(config.kind).lease.count(); }
  };
  struct State {
    State(flow::Time lease, flow::Time now, std::string_view its_group) : group(its_group), permits(lease, now) {}
    const std::string group;
    Permits permits;
    std::map<std::string, std::size_t, std::less<>> awaited;  // permits waited for, by lane
    bool listed = false;                                      // it is in `news_`
    bool news = false;                                        // Redis is to be told at the end of the iteration
    std::size_t asks = 0;                                     // under way
    bool told_meanwhile = false;                              // something else was told while an ask was under way
    flow::Time opens_at = 0;                                  // of a young generation; 0: it grants already
    std::int64_t in_line = 0;                                 // permits waited for, as far as Redis knows
    std::int64_t sharers = 0;                                 // as last told; 0: no other process waits
    flow::Time share_told = 0;                                // when a message last told `sharers`
    flow::Time raised = 0;                                    // when it was last granted some
    flow::Time look_at = 0;                                   // when to look for others' sake; 0: never
    bool called = false;                                      // permits are kept for this process
    flow::Time seen_to = 0;                                   // when it last had news, or permits nothing used
    std::int64_t tolerated = 0;                               // flights that may be in excess: they were adopted
    flow::Time adopted = 0;                                   // when they were adopted
    bool registering = false;                                 // Redis has not told yet how many have no permit
    flow::Time foreign_since = 0;                             // since when its value is foreign; 0: it is not
    std::int64_t to_cut(std::int64_t excess) const { return excess - tolerated; }
    void told_answered(flow::Time sent);
    void count_existing(std::size_t departures, flow::Time now);
    void ended(bool keep);
    std::int64_t waiting() const;
    bool awaits(std::string_view lane) const { return awaited.contains(lane); }
    bool within_level(std::int64_t capacity, flow::Time now) const;
    void learn(const Answer& answer, flow::Time sent, flow::Time now);
    void ask_ended(std::int64_t claim);
  };

  template <typename Use>
  void each_of(std::string_view group, Use use);
  using Entry = std::pair<const Named, State>;
  Entry& entry(const Definition& definition, std::string_view group);
  static Answer answer_of(const std::vector<std::int64_t>& permits, std::size_t which);
  void refresh(Entry& entry, flow::Time sent, const Answer& answer);
  std::string tell(Entry& entry, std::int64_t spare, std::int64_t waiting_besides);
  std::int64_t spare_alone(const Entry& entry) const;
  bool has_part(const Entry& entry) const;
  bool keeps(const Entry& entry) const;
  bool has_lease(const Entry& entry) const { return loop_.now() < entry.second.permits.fence(); }
  const Definition& definition(flow::LimitIndex number) const {
    return *std::ranges::find(definitions_, number, &Definition::number);
  }
  bool is_gone(const Entry& entry) const { return definition(entry.first.limit).place == flow::kNoLimit; }
  flow::Booking::Scope scope(const Entry& entry) const;
  void reckon_pace();
  void changed(Entry& entry);
  void tell_later(Entry& entry);
  void hear_who_pauses(Entry& entry);
  void see_to(Entry& entry);
  void flush_renewals();
  void flush_renewals(Entry& entry);
  void offer_spare(Entry& entry);
  void call_waiting(Entry& entry);
  void cut(const Entry& entry, std::int64_t excess);
  void look_at_clock();
  void wake_by(flow::Time at);

  loop::Loop& loop_;
  flow::LimiterEvents& events_;
  const KeyOf key_of_;
  const Renew renew_;
  Allowance allowance_ = [](flow::LimitIndex) { return 0; };
  std::vector<Definition> definitions_;  // in the limits' order; then those gone and not forgotten
  flow::LimitIndex next_number_;         // a number that none has had
  bool permits_only_;
  flow::Time pace_ = 0;  // interval of looks at the clock (µs)
  std::map<Named, State> all_;
  std::vector<Entry*> news_;  // those that are `listed`
  bool alone_ = false;
  bool answered_ = false;  // Redis has answered, ever
  bool hears_ = true;
  bool may_have_missed_ = false;    // a message that told of a pause may have been missed
  flow::Time missed_since_ = 0;     // since when Redis is asked for pauses; 0: they are known
  flow::Time gone_ = 0, back_ = 0;  // when Redis went, and when it came back
  std::int64_t clock_at_zero_ = 0;  // 0: not known
  flow::Time round_trip_ = 0;
  flow::Time wakes_ = 0;
  loop::IterationEnd iteration_end_;
  loop::Timer timer_;
};

/// A lane waits for a permit of that semaphore, or is refused for lack of one.
void stop_for_permit(const Semaphores& semaphores, flow::LimitIndex number, flow::Booking& booking);

template <typename Use>
void Semaphores::each_of(std::string_view group, Use use) {
  for (const Definition& definition : definitions_) {
    if (definition.place == flow::kNoLimit) break;
    if (!definition.of_group() || !group.empty()) use(entry(definition, group), definition);
  }
}

struct Semaphores::Claim {
  Entry* of;
  std::int64_t count;
  bool operator==(std::int64_t other) const { return count == other; }
};

}  // namespace penstock::redis
