// SPDX-License-Identifier: Apache-2.0
// The tunnels of an upstream: those that rest, and have given up their slot and their permits; those that want a slot
// again; and how many may be open. One beyond that waits outside its lane, so that no request behind it waits, too.
// Internal to flow/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "flow/asker.h"
#include "flow/commands.h"
#include "flow/lane_server.h"
#include "flow/lanes.h"
#include "flow/limiter.h"
#include "flow/queue.h"
#include "flow/requests.h"
#include "flow/slots.h"
#include "flow/upstream_stop.h"

namespace penstock::flow {

class Tunnels {
 public:
  Tunnels(Requests& requests, Slots& slots, Queue& queue, Lanes& lanes, UpstreamStop& stop, Asker& asker,
          LaneServer& server)
      : requests_(requests), slots_(slots), queue_(queue), lanes_(lanes), stop_(stop), asker_(asker), server_(server) {}
  void resize(std::size_t most) { most_ = most; }

  /// Open without a slot, including those that wait for one again.
  std::size_t resting() const { return resting_.size() + spare_.size() + resuming_.size(); }
  std::size_t resuming() const { return resuming_.size(); }

  /// A tunnel in flight rests from now on.
  void park(Time now, std::uint32_t index);
  /// The rest of a resting tunnel begins again.
  void rest_again(Time now, std::uint32_t index);
  /// The tunnel makes room before others that rest.
  void mark_spare(std::uint32_t index);
  /// A resting tunnel wants a slot again.
  void resume(std::uint32_t index);
  /// One that rests or wants a slot again has left.
  void remove(std::uint32_t index);

  // The steps of each call of the scheduler.
  /// Tunnels that wait outside join their lanes while there is room; those that rested ask for the permits with which
  /// they may go on.
  void serve(Time now, Commands& commands) {
    if (!queue_.outside().empty()) let_in(now, commands);
    if (!resuming_.empty()) resume_rested(now, commands);
  }
  bool has_more_to_do(Time now) const { return may_let_in(now) || (!resuming_.empty() && next_to_resume(now)); }
  /// When one of these is next needed; nullopt: not before another call.
  std::optional<Time> wake_at() const;

  /// Applies the answer to the lane's ask for the permits of a tunnel. The lane may be deleted by this.
  void apply(Time now, Lane& lane, const Booking& booking, Commands& commands);
  /// Closes resting tunnels until there is room for another one. False: there is none.
  bool make_room(Time now, Commands& commands);
  /// Whether make_room() would find or make any.
  bool may_have_room(Time now) const;

 private:
  /// Open, or waiting in their lanes.
  std::size_t open() const { return requests_.tunnels() - queue_.outside().size(); }
  void let_in(Time now, Commands& commands);
  void resume_rested(Time now, Commands& commands);
  RequestList& list_of(const Request& request);
  std::optional<std::uint32_t> next_to_resume(Time now) const;
  static Time no_permit_until(const Lane& lane);
  void await_next_of_some(Time now);
  bool others_first(Time now, const Lane& lane) const;
  void go_on(Time now, Lane& lane, Commands& commands);
  bool may_let_in(Time now) const { return !queue_.outside().empty() && may_have_room(now); }
  std::optional<Time> makes_room_at() const;
  void close_longest_rested(Time now, Commands& commands);

  Requests& requests_;
  Slots& slots_;
  Queue& queue_;
  Lanes& lanes_;
  UpstreamStop& stop_;
  Asker& asker_;
  LaneServer& server_;
  std::size_t most_ = 0;
  RequestList resting_;   // the longest rest first
  RequestList spare_;     // likewise; resting tunnels marked spare
  RequestList resuming_;  // first come, first served
};

}  // namespace penstock::flow
