// SPDX-License-Identifier: Apache-2.0
// What the limiter told one lane that holds for all lanes of the upstream: until when its limits stop them, which
// weights they refuse, whether tunnels find permits. It also rations the asks under way. Internal to flow/.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "flow/lane_ask.h"
#include "flow/limit_remap.h"
#include "flow/limiter.h"

namespace penstock::flow {

class Lane;

class UpstreamStop {
 public:
  /// The upstream's own limits make every lane wait.
  bool holds(Time now) const { return until_ > now; }
  Time until() const { return until_; }
  Time not_before() const { return not_before_; }
  /// `lane` was told that no lane should ask before `until`, and that no request leaves before `not_before`.
  void stop(const Lane& lane, Time until, Time not_before) {
    lane_ = &lane, until_ = until, not_before_ = not_before;
    most_asks_ = 1;
  }
  /// Something became free: lanes may ask.
  void lift(Time now) { until_ = std::min(until_, now); }
  /// What that lane was told does not hold any more. The lane may be another one at the same address.
  void lift_if_told(Time now, const Lane& lane) {
    if (lane_ == &lane) lane_ = nullptr, lift(now);
  }

  /// The limit of the upstream that last stopped every lane.
  const LastLimit& limited() const { return limited_; }
  void stopped_by(const LastLimit& limit) { limited_ = limit; }
  const LastRefusal& forbidden() const { return forbidden_; }
  void forbid(const LastRefusal& refusal) { forbidden_ = refusal; }

  // The limiter may still keep a reservation for the upstream.
  void reserved() { reservation_ = true; }
  void not_reserved() { reservation_ = false; }
  bool has_reservation() const { return reservation_; }

  // Asks without an answer yet. After a stop one at a time, since all lanes would get the same answer; with each
  // departure that is granted at once twice as many.
  void ask_begins() { ++asks_; }
  void ask_ends() { --asks_; }
  bool asks_under_way() const { return asks_ > 0; }
  bool asks_are_rationed() const { return asks_ >= most_asks_; }
  bool asks_one_by_one() const { return most_asks_ == 1; }
  void granted_at_once() { most_asks_ = std::min(kAnyNumber, 2 * most_asks_); }

  // Tunnels that resume.
  bool may_resume(Time now) const { return !no_permit_ && now >= resume_at_; }
  void find_no_permit() { no_permit_ = true; }
  void permit_may_be_free() { no_permit_ = false; }
  /// No tunnel resumes before: the limiter cannot be asked, or has no line to wait in for a permit of the upstream.
  void resume_later(Time again) { resume_at_ = again; }
  void resume_now(Time now) { resume_at_ = std::min(resume_at_, now); }
  Time resume_at() const { return resume_at_; }  ///< 0: at any time
  void time_passed(Time now) { resume_at_ = now >= resume_at_ ? 0 : resume_at_; }
  /// As resume_later(), for the tunnels of one lane or route, which keeps the time.
  void some_resume_later(Time again) {
    some_resume_at_ = some_resume_at_ == 0 ? again : std::min(some_resume_at_, again);
  }
  Time some_resume_at() const { return some_resume_at_; }  ///< 0: none waits for its time
  /// True: the first of those times has come.
  bool take_some_resume(Time now) {
    const bool due = some_resume_at_ != 0 && now >= some_resume_at_;
    if (due) some_resume_at_ = 0;
    return due;
  }

  /// The limits tell lanes to ask again.
  void retry(Time now) { until_ = now, forbidden_ = {}, no_permit_ = false; }
  /// The limits have new indices, and have refused nothing yet.
  void change(Time now, std::span<const LimitIndex> moved) {
    limited_.by = renumbered(limited_.by, moved);
    forbidden_ = {};
    no_permit_ = false;
    resume_at_ = some_resume_at_ = 0;
    lift(now);
  }

 private:
  static constexpr std::size_t kAnyNumber = std::size_t{1} << 32;

  Time until_ = 0;
  Time not_before_ = 0;
  const Lane* lane_ = nullptr;  // may be deleted: only compared
  LastLimit limited_;
  LastRefusal forbidden_;
  bool reservation_ = false;
  std::size_t asks_ = 0;
  std::size_t most_asks_ = kAnyNumber;
  bool no_permit_ = false;
  Time resume_at_ = 0, some_resume_at_ = 0;
};

}  // namespace penstock::flow
