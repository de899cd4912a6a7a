// SPDX-License-Identifier: Apache-2.0
// One connection after another.
#include "redis/client/session.h"

#include <utility>

#include "redis/wire/advice.h"

namespace penstock::redis {

namespace {
/// For look-up, connection and greeting together. Short enough for a second try within a second, in case Redis comes
/// back just after our first packet was lost.
constexpr std::int64_t kConnectTimeout = 500'000;

constexpr const char* kElsewhere = "its sentinels have made another Redis the master";

/// Sentinels and nodes name addresses as they see them, which behind NAT or in containers lead nowhere from here.
std::string if_unreachable(const RedisConfig& config) {
  const std::string text = ". If that address cannot be reached from here, name another one ";
  if (config.sentinel)
    return text + "in `sentinel monitor`, and by replica-announce-ip and replica-announce-port at each Redis";
  return text + "by cluster-announce-ip and " + (config.tls ? "cluster-announce-tls-port" : "cluster-announce-port") +
         " at each node";
}
}  // namespace

Session::Session(loop::Loop& loop, loop::Resolver& resolver, Network& network, const RedisConfig& config,
                 Connection::For what, SessionEvents& events)
    : loop_(loop),
      resolver_(resolver),
      network_(network),
      config_(config),
      for_(what),
      events_(events),
      backoff_(loop, network.draw(), [this] { dial(); }) {}

void Session::dial() {
  if (fixed_place_ || !config_.sentinel) return dial_at(fixed_place_ ? *fixed_place_ : place_in(config_));
  finder_ = std::make_unique<MasterFinder>(
      loop_, resolver_, network_, config_, first_sentinel_,
      [this](const std::vector<Endpoint>& there) { events_.on_found(there); },
      [this](const std::expected<MasterFinder::Master, Failure>& found) {
        if (!found) return events_.on_ended(found.error(), {});
        first_sentinel_ = found->sentinel;
        dial_at(found->place);
      });
}

void Session::dial_only(Place place) {
  fixed_place_ = std::move(place);
  dial();
}

/// A sentinel that is cut off from the others goes on naming a Redis that is gone, or a master no longer. So where one
/// has led to no connection that works, the next is asked.
void Session::dial_later() {
  if (!std::exchange(keep_first_sentinel_, false)) ++first_sentinel_;
  backoff_.later();
}

void Session::works() {
  keep_first_sentinel_ = true;
  backoff_.succeeded();
}

/// Other sentinels say the same a little later: then the connection leads there already.
void Session::master_is(const Place& place, std::size_t sentinel) {
  if (place == place_) return;
  first_sentinel_ = sentinel;
  keep_first_sentinel_ = true;
  if (connection_ && !connection_->ended()) return end({FailureKind::lost, kElsewhere});
  new_master_ = place;
}

void Session::dial_at(const Place& place) {
  place_ = place;
  const auto ready_until = loop_.now() + kConnectTimeout;
  dialer_ = std::make_unique<Dialer>(
      loop_, resolver_, network_, place, attempt_++, ready_until,
      [this](const std::vector<Endpoint>& there) { events_.on_found(there); },
      [this, ready_until](auto outcome) { dialled(std::move(outcome), ready_until); });
}

void Session::dialled(std::expected<std::unique_ptr<loop::Stream>, Failure> outcome, std::int64_t ready_until) {
  const auto new_master = std::exchange(new_master_, {});
  if (new_master && *new_master != place_) return events_.on_ended({FailureKind::lost, kElsewhere}, {});
  if (!outcome) return events_.on_ended(not_reached(std::move(outcome.error())), {});
  last_connected_ = place_;
  connection_ = std::make_unique<Connection>(loop_, std::move(*outcome), config_, for_, ready_until, events_);
}

/// A place that has answered before is a right one. One that others named may be wrong, unless TLS is to blame.
Failure Session::not_reached(Failure why) const {
  const bool by_sentinel = config_.sentinel && !fixed_place_, by_cluster = !config_.cluster.empty();
  const auto advice = place_ == last_connected_ ? Advice::none : why.advice;
  why.advice = advice;
  if (!by_sentinel && !by_cluster) return advised(std::move(why), config_);
  why.text.insert(0, by_sentinel ? "its sentinels say that the master is at " + to_string(place_) + ": "
                                 : "its cluster says that a node is there: ");
  if (advice == Advice::reach || advice == Advice::no_tls) why.text += if_unreachable(config_);
  why.advice = Advice::none;
  return why;
}

void Session::close() {
  backoff_.stop();
  finder_.reset();
  dialer_.reset();
  connection_.reset();
}

}  // namespace penstock::redis
