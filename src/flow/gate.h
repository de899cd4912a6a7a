// SPDX-License-Identifier: Apache-2.0
// The gate of an upstream, or of one of its groups, for which an answer asked for a pause. When the pause ends, one
// request goes as a probe, of all processes. If its answer is no refusal, or if none comes within a second after it was
// sent (a refusal comes at once, while a model may think), the gate opens: two requests may go, and for each of these
// that is answered two more. So the number in flight doubles with each round of answers, as in TCP's slow start (RFC
// 5681, section 3.1), until the gate no longer holds anything back. Pure. Internal to flow/.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "flow/limit.h"

namespace penstock::flow {

class Gate {
 public:
  /// A request that was sent so long ago, and was not refused, counts as answered.
  static constexpr Time kProof = 1'000'000;
  /// It is asked again which process may probe when so long nothing was heard; Redis may have died meanwhile.
  static constexpr Time kRightIsAnsweredIn = 100'000;
  static constexpr Time kNever = std::numeric_limits<Time>::max();

  /// Requests that were let pass from the serial number `since` on count in this gate.
  explicit Gate(std::uint32_t since) : since_(since) {}
  bool counts(std::uint32_t serial) const { return serial >= since_; }

  /// Until then nothing goes. What flies proves nothing any more. `alone`: other processes do not have this pause.
  void close(Time until, std::uint32_t since, bool alone = false);
  bool alone() const { return alone_; }
  /// An answer asks for the next pause: that is one that all have.
  void share() { alone_ = false; }
  Time until() const { return until_; }
  void shorten(Time latest) { until_ = std::min(until_, latest); }
  /// The first pause of a refusal that names no time, doubled with each that a probe, or what followed it, has drawn.
  Time usual_pause(Time now, std::optional<std::uint32_t> refused);

  /// How many rounds of answers must come, once its pause is over, before a request may pass that has so many before
  /// it.
  int rounds_until(std::size_t before) const;

  /// How many may be granted a departure now.
  std::size_t allowance(Time now);
  /// With an allowance of 0: when to ask again.
  Time again(Time now) const;
  /// So many of the allowance are granted.
  void use(std::size_t count) { allowance_ -= std::min(allowance_, count); }
  void give_back() { allowance_ += may_send() ? 1 : 0; }

  // The probe.
  /// The pause is over, and it is not known yet which process may probe. True once for each time to ask.
  bool wants_probe(Time now);
  /// The probe flies, and the right to send it ends soon: it is to be asked for again. True once for each time to ask.
  bool wants_more_time(Time now);
  /// This process may, until `until`; or it may not, and asks again then.
  void may_probe(bool may, Time until);
  /// The probe was let pass, by this process or another.
  bool opened() const { return state_ != State::closed; }
  /// That of another process was. It says nothing if this one has not heard of it since the gate closed.
  void opened_elsewhere() {
    if (elsewhere_) open();
  }
  /// When to look, though no request asks, for what other processes are to be told or asked; kNever: not needed.
  Time tend_at() const;
  /// Whether this process holds the right to probe.
  bool probes() const { return right_ == Right::held && !opened(); }

  // Requests that passed, by their index.
  void took_off(std::uint32_t index) { flying_.push_back({index}); }
  /// It was sent: until then it may wait for a connection, which proves nothing.
  void left(std::uint32_t index, Time now);
  /// Its answer has begun, and may be a refusal: from now on it counts as answered after a second.
  void await_judgement(std::uint32_t index, Time now) {
    if (land(index)) flying_.push_back({index, now});
  }
  /// Its answer is no refusal. True: the gate is opened by this.
  bool answered(std::uint32_t index);
  /// It ended without an answer: the next in line may go.
  void failed(std::uint32_t index);
  bool flies(std::uint32_t index) const;
  /// The probe, or another request before it is proven, is in flight.
  bool is_tried() const { return !opened() && !flying_.empty(); }
  /// Another process has the right to probe, as far as is known.
  bool is_tried_elsewhere() const { return !opened() && elsewhere_; }
  /// It holds nothing back any more.
  bool done() const { return state_ == State::done; }
  /// Its pause is over, and for a while no request has wanted to pass that it holds back.
  bool unused(Time now) const {
    const bool holds_some = opened() && allowance_ == 0;
    return now >= until_ && now >= right_changes_ && flying_.empty() && !holds_some;
  }

 private:
  struct Flight {
    std::uint32_t index;
    std::optional<Time> left = std::nullopt;
  };
  enum class State : std::uint8_t { closed, opened, done };
  enum class Right : std::uint8_t { none, asked, held };

  /// Another process may probe otherwise.
  bool may_send() const { return opened() || right_ == Right::held; }
  bool land(std::uint32_t index);
  void open();
  void prove();
  void prove_by_time(Time now);

  std::uint32_t since_;
  Time until_ = 0;
  State state_ = State::closed;
  bool alone_ = false;
  bool elsewhere_ = false;  // another process has the right to probe, as far as is known
  Right right_ = Right::none;
  Time right_changes_ = 0;  // held: it ends then; none: to be asked for from then on
  Time prolong_at_ = 0;     // held: to be asked for again from then on, if the probe flies
  std::size_t allowance_ = 0;
  std::vector<Flight> flying_;  // in order of take-off
  int refusals_ = 0;            // in a row, that named no time
};

}  // namespace penstock::flow
