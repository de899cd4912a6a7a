// SPDX-License-Identifier: Apache-2.0
// The shared semaphores of one upstream, its own and those of its groups: what this process holds of each, which lanes
// wait for how many, when a lease is renewed, and which flights are cut because it could not be. For redis_booker.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "flow/booker.h"
#include "loop/loop.h"
#include "loop/timer.h"
#include "loop/turn_end.h"
#include "penstock/limits.h"
#include "redis/permits.h"

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

  Semaphores(loop::Loop& loop, const std::vector<LimitConfig>& limits, flow::BookerEvents& events, KeyOf key_of,
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
  void adopt(std::string_view group, std::size_t departures);
  /// Everything is returned, and nothing renewed any more.
  void hand_back();

  bool any() const;
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
  /// Its answer: of each what was granted in total, and what was lost; departures; and whether the lane now waits for
  /// `awaited` permits of the one named.
  void answered(std::string_view group, const Claims& claims, const std::vector<std::int64_t>& permits, flow::Time sent,
                std::size_t departures, flow::LimitIndex awaits, std::size_t awaited);
  /// So many were granted by an ask of before the last change: semaphores that it did not tell of adopt them.
  void adopt_unclaimed(std::string_view group, const Claims& claims, std::size_t departures);
  /// It failed, or came too late.
  void failed(std::string_view group, const Claims& claims);

  /// Departures that were granted without Redis.
  void began_alone(std::string_view group, std::size_t departures);
  /// A flight ended, or a departure is not taken.
  void ended(std::string_view group);
  /// The lane waits for no permit any more.
  void gave_up(std::string_view group);

  /// A renewal was answered; `opens_in`: how long a young generation still grants nothing, 0: it does.
  void renewed(const Named& which, flow::Time sent, std::int64_t granted, std::int64_t lost, flow::Time opens_in = 0);
  /// Another process's script granted so many in total, says a message.
  void granted(const Named& which, std::int64_t total);

  /// How many flights may go on without a lease: what `whenDown` leaves this process of each semaphore.
  using Allowance = std::function<std::int64_t(flow::LimitIndex)>;
  void set_allowance(Allowance allowance) { allowance_ = std::move(allowance); }
  /// Redis is back: it hears of all that are held.
  void redis_back();

 private:
  struct Sort {
    flow::LimitIndex number;
    flow::LimitIndex place;  // kNoLimit: gone
    LimitConfig config;
    bool is_new = true;   // since the last change
    bool changed = true;  // by it, in any way
    bool of_group() const { return config.per == LimitConfig::Per::group; }
    flow::Time lease() const { return std::get<SemaphoreConfig>(config.kind).lease.count(); }
  };
  struct One {
    One(flow::Time lease, flow::Time now, std::string_view its_group) : group(its_group), permits(lease, now) {}
    const std::string group;
    Permits permits;
    std::map<std::string, std::size_t, std::less<>> awaited;  // by lane
    bool news = false;                                        // to be told at the turn's end
    std::size_t asks = 0;                                     // under way
    bool told_meanwhile = false;                              // by something else than they
    flow::Time opens_at = 0;                                  // of a young generation; 0: it grants already
    std::int64_t tolerated = 0;                               // so many may fly in excess: they were adopted
    flow::Time adopted = 0;                                   // when
    bool registering = false;                                 // Redis has not said yet how many have none
    std::int64_t to_cut(std::int64_t excess) const { return excess - tolerated; }
    void told_answered(flow::Time sent);
    void adopt(std::size_t departures, flow::Time now);
    void ended();
    std::int64_t waiting() const;
    std::string tell(std::int64_t spare, std::int64_t waiting_besides);
    void ask_ended(std::int64_t claim);
  };

  template <typename Use>
  void each_of(std::string_view group, Use use);
  using Entry = std::pair<const Named, One>;
  Entry& entry(const Sort& sort, std::string_view group);
  void refresh(Entry& entry, flow::Time sent, std::int64_t granted, std::int64_t lost);
  const Sort& sort(flow::LimitIndex number) const { return *std::ranges::find(sorts_, number, &Sort::number); }
  bool is_gone(const Entry& entry) const { return sort(entry.first.limit).place == flow::kNoLimit; }
  flow::Booking::Scope scope(const Entry& entry) const;
  void reckon_shortest();
  void changed(Entry& entry);
  void tell_later(Entry& entry);
  void tell_news();
  void offer_spare(Entry& entry);
  void call_waiting(Entry& entry);
  void cut(const Entry& entry, std::int64_t excess);
  void look_at_clock();

  loop::Loop& loop_;
  flow::BookerEvents& events_;
  const KeyOf key_of_;
  const Renew renew_;
  Allowance allowance_ = [](flow::LimitIndex) { return 0; };
  std::vector<Sort> sorts_;       // in order; then those that are gone and not forgotten
  flow::LimitIndex next_number_;  // none has had it
  flow::Time shortest_ = 0;       // lease
  std::map<Named, One> all_;
  std::vector<Entry*> news_;  // whose `news` is set
  loop::TurnEnd turn_end_;
  loop::Timer timer_;
};

struct Semaphores::Claim {
  Entry* of;
  std::int64_t count;
  bool operator==(std::int64_t other) const { return count == other; }
};

}  // namespace penstock::redis
