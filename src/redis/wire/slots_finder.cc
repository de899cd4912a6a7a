// SPDX-License-Identifier: Apache-2.0
// See slots_finder.h. CLUSTER SLOTS is known to every version; CLUSTER SHARDS tells no more of what is needed here.
#include "redis/wire/slots_finder.h"

#include <algorithm>
#include <utility>

#include "redis/wire/advice.h"
#include "redis/wire/command.h"
#include "redis/wire/self_test.h"

namespace penstock::redis {

namespace {

constexpr Duration kNodeTimeout = 300ms;  // a node that does not answer must not keep the others from being asked

/// Adds what to do, where the error reply does not say it.
Failure explained(const Failure& why, const RedisConfig& config) {
  if (why.text.find("cluster support disabled") != std::string::npos)
    return {FailureKind::unsupported, "it is no Redis Cluster", Advice::no_cluster};
  Refusals refused;
  return refused.note("cluster|slots", why.text) ? Failure{why.kind, refused.text(config)} : why;
}

RedisConfig with_node_timeout(RedisConfig config) {
  config.timeout = std::max(config.timeout, kNodeTimeout);
  return config;
}

}  // namespace

SlotsFinder::SlotsFinder(loop::Loop& loop, loop::Resolver& resolver, Network& network, const RedisConfig& config,
                         std::vector<Place> places, std::int64_t until, Dialer::Found found, Done done)
    : loop_(loop),
      resolver_(resolver),
      network_(network),
      config_(with_node_timeout(config)),
      places_(std::move(places)),
      until_(until),
      found_(std::move(found)),
      done_(std::move(done)),
      next_(loop, [this] { dial(); }) {
  next_.start(loop.now());
}

void SlotsFinder::dial() {
  const auto until = loop_.now() + kNodeTimeout.count();
  connection_.reset();
  dialer_ = std::make_unique<Dialer>(
      loop_, resolver_, network_, places_[asked_], 0, until,
      [this](const std::vector<Endpoint>& there) { found_(there); },
      [this, until](std::expected<std::unique_ptr<loop::Stream>, Failure> outcome) {
        if (!outcome) return fail(advised(outcome.error(), config_));
        connection_ = std::make_unique<Connection>(loop_, std::move(*outcome), config_, Connection::For::commands,
                                                   until, static_cast<ConnectionEvents&>(*this));
      });
}

void SlotsFinder::on_ready() { connection_->send({.command = command({"CLUSTER", "SLOTS"})}); }

void SlotsFinder::on_reply(Call, const Outcome& outcome) {
  std::expected<SlotMap, Failure> map;
  if (!outcome) {
    map = std::unexpected(explained(outcome.error(), config_));
  } else if (auto read = SlotMap::read(*outcome, places_[asked_].host); !read) {
    map = std::unexpected(Failure{FailureKind::clusterdown, std::move(read.error())});
  } else {
    map = std::move(*read);
  }
  if (!map) return connection_->end(map.error());
  answered_ = true;
  connection_->end({FailureKind::lost, "it is not needed any more"});
  done_(std::move(map));
}

void SlotsFinder::on_ended(const Failure& why, std::deque<Call>) {
  if (!answered_) fail(why);
}

void SlotsFinder::fail(const Failure& why) {
  const std::string said = to_string(places_[asked_]) + ": " + why.text;
  const bool in_time = loop_.now() < until_ - kNodeTimeout.count();
  if (++asked_ < places_.size() && in_time) return next_.start(loop_.now());
  done_(std::unexpected(Failure{.kind = why.kind,
                                .text = "no node says which has which slots; " + said,
                                .of_tls = why.of_tls,
                                .cause = why.text}));
}

}  // namespace penstock::redis
