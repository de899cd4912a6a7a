// SPDX-License-Identifier: Apache-2.0
// The shared semaphores of one upstream, its own and those of its groups: what this process holds of each, which lanes
// wait for how many, what of that starts without a call, when a lease is renewed, and which flights are cut because it
// could not be. For redis_booker.
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
  /// One of them, as its script call names it.
  struct Named {
    flow::LimitIndex limit = flow::kNoLimit;  ///< the place at which it came; not its place now, see place_of()
    std::string group;                        ///< its hash; empty: the upstream's own
    bool operator==(const Named&) const = default;
    auto operator<=>(const Named&) const = default;
  };
  /// `renew` calls the script for one, telling these words, and sees to it that renewed() is called if it answers.
  using Renew = std::function<void(const Named& which, const std::string& told)>;
  using KeyOf = std::function<std::string(std::string_view group)>;

  Semaphores(loop::Loop& loop, const std::vector<LimitConfig>& limits, flow::LimiterEvents& events, KeyOf key_of,
             Renew renew);

  /// From now on those of these limits. One with the name and scope of one before is the same; one that is new has a
  /// number that none had. Of those that are gone all permits are returned.
  void change(const std::vector<LimitConfig>& limits);
  /// Of such a limit; kNoLimit: it is gone.
  flow::LimitIndex place_of(flow::LimitIndex number) const;
  const LimitConfig& config(flow::LimitIndex number) const;
  /// The number of the semaphore at this place.
  flow::LimitIndex at(flow::LimitIndex place) const;
  /// So many departures of this group were granted before. Semaphores that are new have them registered as far as there
  /// is room; none is cut because there is not.
  void count_existing(std::string_view group, std::size_t departures);
  /// Everything is returned, and nothing renewed any more.
  void hand_back();

  bool any() const;
  /// All limits are such: who has a permit may leave.
  bool permits_only() const { return permits_only_; }
  /// What an answer tells of one.
  struct Answer {
    std::int64_t granted = 0;  ///< in total
    std::int64_t lost = 0;     ///< of those that were told
    std::int64_t sharers = 0;  ///< among so many processes the capacity is shared; 0: nobody else waits
    std::int64_t look = 0;     ///< it is to look again after so long; 0: never, -1: some are kept for it now
  };
  static constexpr std::size_t kNumbers = 4;  ///< of each
  /// Whether an answer may tell so of as many semaphores as the ask did.
  static bool plausible(const std::vector<std::int64_t>& permits, std::size_t semaphores);
  /// What one ask has claimed of the spare permits, for each of its semaphores in order.
  struct Claim;
  using Claims = std::vector<Claim>;
  /// An ask is sent: what it tells of each, in the order of the configuration.
  Claims claim(std::string_view group, std::vector<std::string>& told);
  /// The same without claiming any, of the upstream's own.
  void tell(std::vector<std::string>& told);
  /// The answer to that.
  void heard(const std::vector<std::int64_t>& permits, flow::Time sent);
  /// Its answer: of each the numbers; departures; and whether the lane now waits for `awaited` permits of the one
  /// named.
  void answered(std::string_view group, const Claims& claims, const std::vector<std::int64_t>& permits, flow::Time sent,
                std::size_t departures, flow::LimitIndex awaits, std::size_t awaited);
  /// So many were granted by an ask of before the last change: semaphores that it did not tell of adopt them.
  void adopt_unclaimed(std::string_view group, const Claims& claims, std::size_t departures);
  /// It failed, or came too late; or it met a value that is not ours.
  void failed(std::string_view group, const Claims& claims, bool foreign = false);

  /// What the permits at hand allow: so many departures, and which semaphore allows no more.
  struct AtHand {
    std::size_t count = 0;
    flow::LimitIndex by = flow::kNoLimit;  ///< its number, where there are fewer than were wanted
  };
  /// A lane wants so many, and no other limit is in its way. If permits at hand are enough, or if it stands in line for
  /// the rest, they are used, and Redis need not be asked; otherwise nothing is done.
  std::optional<AtHand> take_at_hand(std::string_view group, std::size_t wanted);
  /// The same while Redis is gone, as if it had been asked: nobody else grants any.
  AtHand at_hand_alone(std::string_view group, std::size_t wanted);
  /// Of these so many were used; `wanted` says how many the lane still waits for.
  void use_alone(std::string_view group, std::size_t departures, flow::LimitIndex awaits, std::size_t awaited);
  /// Departures that were granted without Redis whatever is held.
  void began_alone(std::string_view group, std::size_t departures);
  /// A flight ended, or a departure is not taken. True: its permits are at hand.
  bool ended(std::string_view group);
  /// The lane waits for no permit any more.
  void gave_up(std::string_view group);

  /// A renewal was answered; `opens_in`: how long a young generation still grants nothing, 0: it does.
  void renewed(const Named& which, flow::Time sent, const Answer& answer, flow::Time opens_in = 0);
  /// Or it met a value that is not ours: nobody is granted any.
  void met_foreign(const Named& which);
  /// Another process's script says in a message: permits are kept for this one, "take"; the capacity is shared among so
  /// many, "share"; look again after so long, "look".
  void message(const Named& which, std::string_view word, std::int64_t number);
  /// Messages come from now on, or they do not.
  void set_hears(bool hears);
  /// Where Redis' clock stands when the loop's is at 0, and how far away it is.
  void set_clock(std::int64_t at_zero, flow::Time round_trip) { clock_at_zero_ = at_zero, round_trip_ = round_trip; }

  /// How many flights may go on without a lease: what `whenDown` leaves this process of each semaphore.
  using Allowance = std::function<std::int64_t(flow::LimitIndex)>;
  void set_allowance(Allowance allowance) { allowance_ = std::move(allowance); }
  /// Redis does not answer, or is not to be asked: what is held is all that there is.
  void redis_gone();
  /// Redis is back: it hears of all that are held.
  void redis_back();

 private:
  struct Definition {
    flow::LimitIndex number;
    flow::LimitIndex place;  // kNoLimit: gone
    LimitConfig config;
    bool is_new = true;   // since the last change
    bool changed = true;  // by it, in any way
    bool of_group() const { return config.per == LimitConfig::Per::group; }
    flow::Time lease() const { return std::get<SemaphoreConfig>(config.kind).lease.count(); }
  };
  struct State {
    State(flow::Time lease, flow::Time now, std::string_view its_group) : group(its_group), permits(lease, now) {}
    const std::string group;
    Permits permits;
    std::map<std::string, std::size_t, std::less<>> awaited;  // by lane
    bool listed = false;                                      // to be looked at at the turn's end
    bool news = false;                                        // and told
    std::size_t asks = 0;                                     // under way
    bool told_meanwhile = false;                              // by something else than they
    flow::Time opens_at = 0;                                  // of a young generation; 0: it grants already
    std::int64_t in_line = 0;                                 // for so many, as Redis knows
    std::int64_t sharers = 0;                                 // as last told; 0: nobody else waits
    flow::Time share_told = 0;                                // when a message did
    flow::Time raised = 0;                                    // when it was last granted some
    flow::Time look_at = 0;                                   // for others; 0: not
    bool called = false;                                      // permits are kept for it
    flow::Time seen_to = 0;                                   // when it last had news, or permits that nobody used
    std::int64_t tolerated = 0;                               // so many may fly in excess: they were adopted
    flow::Time adopted = 0;                                   // when
    bool registering = false;                                 // Redis has not said yet how many have none
    flow::Time foreign_since = 0;                             // it has something else there; 0: it does not
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
  std::vector<Definition> definitions_;  // in order; then those that are gone and not forgotten
  flow::LimitIndex next_number_;         // none has had it
  bool permits_only_;
  flow::Time pace_ = 0;  // in which the clock is looked at
  std::map<Named, State> all_;
  std::vector<Entry*> news_;  // those that are listed
  bool alone_ = false;
  bool answered_ = false;  // Redis, ever
  bool hears_ = true;
  bool may_have_missed_ = false;    // a message that said that somebody pauses
  flow::Time missed_since_ = 0;     // that is asked for since then; 0: it is known
  flow::Time gone_ = 0, back_ = 0;  // Redis, when
  std::int64_t clock_at_zero_ = 0;  // 0: not known
  flow::Time round_trip_ = 0;
  flow::Time wakes_ = 0;
  loop::IterationEnd iteration_end_;
  loop::Timer timer_;
};

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
