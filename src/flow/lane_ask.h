// SPDX-License-Identifier: Apache-2.0
// What one lane asks of the limiter, and what it was told instead of a departure: when to ask again, which permit to
// wait for, which limit stops it. Internal to flow/.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <utility>

#include "flow/limit_remap.h"
#include "flow/limiter.h"

namespace penstock::flow {

/// The limit that last made a request wait, and when the limiter said so.
struct LastLimit {
  LimitIndex by = kNoLimit;
  Time at = std::numeric_limits<Time>::min();
};

/// Until when a limit in refuse mode refuses this load and any that is no lighter.
struct LastRefusal {
  LimitIndex by = kNoLimit;
  Load load = 0;
  Time until = 0;
  bool covers(Time now, const Load& other) const { return now < until && as_heavy(other, load); }
};

/// For a tunnel that found no permit to resume: it asks again when one may be free, at no time before.
inline constexpr Time kUntilFree = std::numeric_limits<Time>::max();

class LaneAsk {
 public:
  // The ask under way: for departures, or for the permits of a tunnel that resumes.
  bool under_way() const { return count_ > 0 || resumes_; }
  bool for_departures() const { return count_ > 0; }
  bool to_resume() const { return resumes_; }
  std::size_t count() const { return count_; }
  const Load& load() const { return load_; }  ///< of the last ask, too
  std::int64_t units() const { return static_cast<std::int64_t>(count_) * load_.weight; }
  void begin(std::size_t count, const Load& load) { count_ = count, load_ = load; }
  /// What it is told next holds for a request of this load, for which the limiter was not asked.
  void told_for(const Load& load) { load_ = load; }
  void begin_to_resume() { resumes_ = true; }
  /// Returns for how many departures it was; 0: for a tunnel, or void.
  std::size_t end() { return resumes_ = false, std::exchange(count_, 0); }

  // What it was told.
  void ask_later(Time again, Time not_before) { again_ = again, not_before_ = not_before; }
  void await_permit(Booking::Scope scope) { awaits_ = scope; }
  void await_none() { awaits_.reset(); }
  /// The lane may ask again at once.
  void forget_told() { again_.reset(), awaits_.reset(); }
  bool told_to_wait() const { return again_.has_value(); }
  std::optional<Time> again() const { return again_; }
  std::optional<Time> not_before() const { return again_ ? std::optional(not_before_) : std::nullopt; }
  std::optional<Booking::Scope> awaits() const { return awaits_; }

  /// The line in which the limiter keeps a place for the lane. A new ask replaces it; else cancel_wait() must end it.
  std::optional<Booking::Scope> line() const { return line_; }
  void enter_line(Booking::Scope scope) { line_ = scope; }
  void leave_line() { line_.reset(); }

  /// A tunnel of the lane found no permit of its group to resume, and none is known to be free since. `until`: it asks
  /// again then, as the limiter has no line in which it could wait; or kUntilFree.
  void find_no_permit(Time until) { no_permit_until_ = until; }
  Time no_permit_until() const { return no_permit_until_; }
  void permit_may_be_free() { no_permit_until_ = 0; }

  // Permits that came free and are this lane's to ask for.
  void offer_permits(Booking::Scope of, std::size_t count) { offered(of) += count; }
  void use_permits(std::size_t count) {
    for (std::size_t& some : offered_) some -= std::min(some, count);
  }
  /// Takes them from the lane: it passes them on, or none of these is free.
  std::size_t take_permits(Booking::Scope of) { return std::exchange(offered(of), 0); }

  /// The ask was in vain, as any other lane's would have been: the lane comes first again in its list.
  void keep_precedence(bool kept) { precedes_ = kept; }
  bool take_precedence() { return std::exchange(precedes_, false); }

  // The limits that stop it.
  const LastLimit& limited() const { return limited_; }
  void stopped_by(LimitIndex by, Time now) { limited_ = {by, now}; }
  const LastRefusal& forbidden() const { return forbidden_; }
  void forbid(const LastRefusal& refusal) { forbidden_ = refusal; }
  /// The limits have new indices, and have refused nothing yet.
  void renumber(std::span<const LimitIndex> moved) { limited_.by = renumbered(limited_.by, moved), forbidden_ = {}; }

 private:
  std::size_t& offered(Booking::Scope of) { return offered_[static_cast<std::size_t>(of)]; }

  std::size_t count_ = 0;  // departures of the ask under way
  Load load_;
  bool resumes_ = false;
  bool precedes_ = false;
  std::optional<Time> again_;
  Time not_before_ = 0;  // valid with again_
  Time no_permit_until_ = 0;
  std::optional<Booking::Scope> awaits_;  // the scope of the permit that it waits for
  std::optional<Booking::Scope> line_;
  std::array<std::size_t, 3> offered_{};  // of each scope; those of a group only if the lane itself gave them back
  LastLimit limited_;
  LastRefusal forbidden_;  // the last by a limit in refuse mode
};

}  // namespace penstock::flow
