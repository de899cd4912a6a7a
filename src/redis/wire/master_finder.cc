// SPDX-License-Identifier: Apache-2.0
// See master_finder.h. The protocol: https://redis.io/docs/latest/develop/reference/sentinel-clients/
#include "redis/wire/master_finder.h"

#include <charconv>
#include <utility>

#include "redis/wire/command.h"
#include "redis/wire/self_test.h"

namespace penstock::redis {

MasterFinder::MasterFinder(loop::Loop& loop, loop::Resolver& resolver, Network& network, const RedisConfig& config,
                           std::size_t first, Dialer::Found found, Done done)
    : config_(config),
      done_(std::move(done)),
      sentinel_(loop, resolver, network, config, Connection::For::commands, std::move(found), *this) {
  sentinel_.dial(first % config.sentinel->hosts.size());
}

void MasterFinder::on_sentinel() {
  sentinel_.send(command({"SENTINEL", "GET-MASTER-ADDR-BY-NAME", config_.sentinel->master}));
}

/// The reply is an address, or a name, and a port; nil if the sentinel does not know the master.
void MasterFinder::on_sentinel_reply(const Outcome& outcome) {
  if (!outcome) {
    Refusals found;
    const bool refused = found.note("sentinel get-master-addr-by-name", outcome.error().text);
    return ask_next(refused ? Failure{FailureKind::noperm, found.text(as_sentinel(config_))} : outcome.error());
  }
  auto words = outcome->elements();
  const std::string host(words.next().text());
  const auto port = words.next().text();
  Master master{.place = {.host = host, .port = 0, .path = {}, .tls = config_.tls.has_value()},
                .sentinel = sentinel_.number()};
  const auto read = std::from_chars(port.data(), port.data() + port.size(), master.place.port);
  if (host.empty() || read.ec != std::errc())
    return ask_next({FailureKind::unreachable, "it does not know the master '" + config_.sentinel->master + "'"});
  sentinel_.close();
  done_(master);
}

void MasterFinder::on_sentinel_gone(const Failure& why) { ask_next(why); }

/// What one sentinel refuses is an outage of the master: no call can be made.
void MasterFinder::ask_next(const Failure& why) {
  const auto count = config_.sentinel->hosts.size();
  const std::string said = sentinel_.name() + ": " + why.text;
  sentinel_.close();
  if (++asked_ < count) return sentinel_.dial((sentinel_.number() + 1) % count);
  done_(std::unexpected(Failure{.kind = is_outage(why.kind) ? why.kind : FailureKind::unreachable,
                                .text = "no sentinel says where the master is; " + said,
                                .of_tls = why.of_tls,
                                .cause = why.text}));
}

}  // namespace penstock::redis
