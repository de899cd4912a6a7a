// SPDX-License-Identifier: Apache-2.0
// Tunnels rest and resume, and are closed to make room for others.
#include "flow/tunnels.h"

#include <algorithm>

namespace penstock::flow {

namespace {
constexpr Time kRestsLong = 30'000'000;  // after this rest a tunnel may be closed to make room
}  // namespace

// ---- rest and resume ------------------------------------------------------------------------------------------------

RequestList& Tunnels::list_of(const Request& request) {
  if (request.stage == Stage::resuming) return resuming_;
  return request.spare ? spare_ : resting_;
}

void Tunnels::park(Time now, std::uint32_t index) {
  Request& request = requests_[index];
  asker_.leave_gates(now, request, index, true);  // what rests has been let through
  slots_.landed(now, request);
  slots_.leave(request);
  request.lane->change_stage(request, Stage::resting);
  request.deadline = now;
  list_of(request).push_back(requests_, index);
  asker_.landed(now, *request.lane);
}

void Tunnels::rest_again(Time now, std::uint32_t index) {
  RequestList& list = list_of(requests_[index]);
  list.remove(requests_, index);
  list.push_back(requests_, index);
  requests_[index].deadline = now;
}

void Tunnels::mark_spare(std::uint32_t index) {
  Request& request = requests_[index];
  const bool rests = request.stage == Stage::resting;
  if (rests) list_of(request).remove(requests_, index);
  request.spare = true;
  if (rests) list_of(request).push_back(requests_, index);
}

void Tunnels::resume(std::uint32_t index) {
  Request& request = requests_[index];
  list_of(request).remove(requests_, index);
  request.lane->change_stage(request, Stage::resuming);
  list_of(request).push_back(requests_, index);
}

void Tunnels::remove(std::uint32_t index) { list_of(requests_[index]).remove(requests_, index); }

void Tunnels::resume_rested(Time now, Commands& commands) {
  stop_.time_passed(now);
  if (stop_.take_some_resume(now)) await_next_of_some(now);
  while (const auto next = next_to_resume(now)) {
    Lane& lane = *requests_[*next].lane;
    if (others_first(now, lane)) break;
    if (asker_.ask_to_resume(now, lane)) {
      apply(now, lane, asker_.answer(), commands);
    } else {
      lanes_.place(now, lane);
    }
  }
}

/// The first tunnel for which there may be a slot and a permit: the first of all, unless permits are short.
std::optional<std::uint32_t> Tunnels::next_to_resume(Time now) const {
  if (slots_.free() == 0 || !stop_.may_resume(now)) return std::nullopt;
  std::uint32_t index = resuming_.front();
  for (std::size_t left = resuming_.size(); left > 0; --left, index = requests_[index].next) {
    const Lane& lane = *requests_[index].lane;
    if (no_permit_until(lane) <= now && !lane.ask.under_way()) return index;
  }
  return std::nullopt;
}

Time Tunnels::no_permit_until(const Lane& lane) {
  return std::max(lane.ask.no_permit_until(), lane.route ? lane.route->no_permit_until() : 0);
}

void Tunnels::await_next_of_some(Time now) {
  std::uint32_t index = resuming_.front();
  for (std::size_t left = resuming_.size(); left > 0; --left, index = requests_[index].next) {
    const Time until = no_permit_until(*requests_[index].lane);
    if (until > now && until != kUntilFree) stop_.some_resume_later(until);
  }
}

/// True if another lane's turn comes first. Within its own lane a tunnel that resumes goes first.
bool Tunnels::others_first(Time now, const Lane& lane) const {
  if (stop_.holds(now) || lanes_.wanting().empty() || stop_.asks_are_rationed()) return false;
  const Lane& next = lanes_.wanting().front();
  return &next != &lane && next.last_served < lane.last_served;
}

void Tunnels::apply(Time now, Lane& lane, const Booking& booking, Commands& commands) {
  const bool granted = asker_.book_permits(now, lane, booking);
  if (granted && lane.has_resuming()) {
    go_on(now, lane, commands);
  } else if (granted) {
    asker_.landed(now, lane);  // the tunnel has left meanwhile
  }
  // Where permits are shared, a granted permit also ends the lane's place in the line: the lane must ask again.
  if (granted && lane.ask.awaits() && asker_.asynchronous()) lane.ask.forget_told();
  server_.refresh(now, lane, commands);
}

/// The first tunnel of the lane that wants a slot again gets it.
void Tunnels::go_on(Time now, Lane& lane, Commands& commands) {
  std::uint32_t index = resuming_.front();
  while (requests_[index].lane != &lane) index = requests_[index].next;
  resuming_.remove(requests_, index);
  Request& request = requests_[index];
  lane.change_stage(request, Stage::flying);
  lanes_.served(lane);
  slots_.take(now, request);
  commands.resume.push_back(request.id);
}

// ---- how many may be open -------------------------------------------------------------------------------------------

void Tunnels::let_in(Time now, Commands& commands) {
  while (!queue_.outside().empty() && make_room(now, commands)) {
    Lane& lane = *requests_[queue_.outside().front()].lane;
    queue_.let_in(now, lane.slot_wait.so_far(slots_.full_time()));
    server_.refresh(now, lane, commands);
  }
}

/// No resting tunnel is closed for a tunnel that would have to wait for a slot anyway.
bool Tunnels::may_have_room(Time now) const {
  if (open() < most_) return true;
  return slots_.free() > 0 && !stop_.holds(now) && makes_room_at().value_or(now + 1) <= now;
}

bool Tunnels::make_room(Time now, Commands& commands) {
  while (open() >= most_ && may_have_room(now)) close_longest_rested(now, commands);
  return open() < most_;
}

std::optional<Time> Tunnels::makes_room_at() const {
  if (!spare_.empty()) return requests_[spare_.front()].deadline;
  return resting_.empty() ? std::nullopt : std::optional(requests_[resting_.front()].deadline + kRestsLong);
}

void Tunnels::close_longest_rested(Time now, Commands& commands) {
  const std::uint32_t index = (spare_.empty() ? resting_ : spare_).front();
  Lane& lane = *requests_[index].lane;
  commands.close.push_back(requests_[index].id);
  remove(index);
  lane.forget(requests_, index);
  server_.refresh(now, lane, commands);
}

std::optional<Time> Tunnels::wake_at() const {
  if (slots_.free() == 0) return std::nullopt;
  std::optional<Time> next;
  const auto at = [&next](Time moment) { next = next ? std::min(*next, moment) : moment; };
  for (const Time again : {stop_.resume_at(), stop_.some_resume_at()}) {
    if (!resuming_.empty() && again != 0) at(again);
  }
  if (!queue_.outside().empty() && makes_room_at()) at(std::max(*makes_room_at(), stop_.until()));
  return next;
}

}  // namespace penstock::flow
