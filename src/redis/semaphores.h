// SPDX-License-Identifier: Apache-2.0
// The shared semaphores of one upstream, its own and those of its groups: what this process holds of each, which lanes
// wait for how many, when a lease is renewed, and which flights are cut because it could not be. For redis_booker.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
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
    flow::LimitIndex limit = flow::kNoLimit;
    std::string group;  ///< its hash; empty: the upstream's own
    bool operator==(const Named&) const = default;
    auto operator<=>(const Named&) const = default;
  };
  /// `renew` calls the script for one, telling these words, and sees to it that renewed() is called if it answers.
  using Renew = std::function<void(const Named& which, const std::string& told)>;
  using KeyOf = std::function<std::string(std::string_view group)>;

  Semaphores(loop::Loop& loop, const std::vector<LimitConfig>& limits, flow::BookerEvents& events, KeyOf key_of,
             Renew renew);

  bool any() const { return !places_.empty(); }
  /// Whether an answer tells of as many semaphores as the ask for this group did.
  bool plausible(std::string_view group, const std::vector<std::int64_t>& permits) const;
  /// What one ask has claimed of the spare permits, for each of its semaphores in order.
  using Claims = std::vector<std::int64_t>;
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
  struct One {
    One(flow::Time lease, flow::Time now, std::string_view its_group) : group(its_group), permits(lease, now) {}
    const std::string group;
    Permits permits;
    std::map<std::string, std::size_t, std::less<>> awaited;  // by lane
    bool news = false;                                        // to be told at the turn's end
    std::size_t asks = 0;                                     // under way
    bool told_meanwhile = false;                              // by something else than they
    flow::Time opens_at = 0;                                  // of a young generation; 0: it grants already
    std::int64_t waiting() const;
    std::string tell(std::int64_t spare, std::int64_t waiting_besides);
    void ask_ended(std::int64_t claim);
  };

  template <typename Use>
  void each_of(std::string_view group, Use use);
  using Entry = std::pair<const Named, One>;
  Entry& entry(flow::LimitIndex place, std::string_view group);
  bool of_group(flow::LimitIndex place) const { return limits_[static_cast<std::size_t>(place)].per == kPerGroup; }
  flow::Time lease(flow::LimitIndex place) const;
  void tell_later(Entry& entry);
  void tell_news();
  void offer_spare(Entry& entry);
  void call_waiting(Entry& entry);
  void cut(const Entry& entry, std::int64_t count);
  void look_at_clock();

  static constexpr LimitConfig::Per kPerGroup = LimitConfig::Per::group;

  loop::Loop& loop_;
  const std::vector<LimitConfig>& limits_;
  flow::BookerEvents& events_;
  const KeyOf key_of_;
  const Renew renew_;
  Allowance allowance_ = [](flow::LimitIndex) { return 0; };
  std::vector<flow::LimitIndex> places_;  // of the shared semaphores, in order
  flow::Time shortest_ = 0;               // lease
  std::map<Named, One> all_;
  std::vector<Entry*> news_;  // whose `news` is set
  loop::TurnEnd turn_end_;
  loop::Timer timer_;
};

}  // namespace penstock::redis
