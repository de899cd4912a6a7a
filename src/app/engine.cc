// SPDX-License-Identifier: Apache-2.0
// Who is made in which order, and who is told of what.
#include "app/engine.h"

#include <algorithm>
#include <utility>

#include "proxy/local_bookers.h"
#include "tls/identity.h"

namespace penstock::app {

namespace {
constexpr std::int64_t kLagEvery = 10'000;
constexpr std::int64_t kLogLookEvery = 10'000'000;
constexpr std::int64_t kLeaveLookEvery = 5'000;
constexpr std::int64_t kLastWords = 500'000;  // for answers written when grace is over

/// Where Redis listens: nobody may send it requests through us. A name is what it is only to Redis' own connection.
std::vector<Endpoint> places_of(const std::optional<RedisConfig>& redis) {
  if (!redis || !redis->path.empty()) return {};
  if (redis->host == "localhost") return {{"127.0.0.1", redis->port}, {"::1", redis->port}};
  return {{redis->host, redis->port}};
}

/// Files that no request could use are found now.
std::expected<void, Error> check_tls(const Config& config) {
  const auto named = [](const std::string& name, std::expected<void, Error> fine) {
    if (!fine) fine.error().message = "upstreams." + name + "." + fine.error().message;
    return fine;
  };
  for (const auto& upstream : config.upstreams) {
    if (auto fine = named(upstream.name, tls::check(upstream.settings.tls)); !fine) return fine;
  }
  return named("\"*\"", tls::check(config.unmatched.tls));
}

RedisSnapshot redis_snapshot(const redis::BookingOffice& office) {
  RedisSnapshot now{.up = office.up(), .degraded = office.degraded(), .calls = office.counts().calls};
  for (std::size_t i = 0; i < redis::kFailureLabels.size(); ++i) {
    now.errors.emplace_back(redis::kFailureLabels[i], office.counts().errors[i]);
  }
  return now;
}
}  // namespace

Engine::Engine(loop::Loop& loop, const Config& config, const std::vector<EventSink>& observers, NoticeSink notices)
    : loop_(loop),
      config_(config),
      observers_(observers),
      notices_(std::move(notices)),
      lag_timer_(loop, [this] { measure_lag(); }),
      grace_timer_(loop, [this] { out_of_grace(); }),
      leave_timer_(loop, [this] { take_leave(); }) {}

Engine::~Engine() {
  say_drained(false);
  dispatcher_.reset();  // first: exchanges point at requesters and transfers, which must still be there
  office_.reset();
  clients_.reset();
  connections_.reset();
}

std::expected<void, Error> Engine::open() {
  if (auto fine = check_tls(config_); !fine) return fine;
  auto log = observe::EventLog::open(config_.log.events);
  if (!log) return std::unexpected(log.error());
  log_ = std::move(*log);
  metrics_ = std::make_unique<observe::Metrics>(config_);
  auto listener = loop::Listener::listen(loop_, config_.proxy.listen, [this](std::unique_ptr<loop::Stream> stream) {
    clients_->admit(std::move(stream));
  });
  if (!listener) return std::unexpected(listener.error());
  listener_ = std::move(*listener);
  in_force_ = config_;
  in_force_.proxy.listen = listener_->bound();
  auto admin = observe::AdminServer::listen(
      loop_, in_force_, *metrics_, [this] { return snapshot(); }, [this] { return log_->dropped(); });
  if (!admin) return std::unexpected(admin.error());
  admin_ = std::move(*admin);
  make_proxy();
  loop_.at_end_of_turn([this] { log_->flush(); });
  measure_lag();
  return {};
}

void Engine::make_proxy() {
  verdict_ = std::make_unique<access::Verdict>(config_.access, std::vector{listener_->bound(), admin_->bound()},
                                               places_of(config_.redis));
  resolver_ = std::make_unique<loop::Resolver>(loop_, config_.dns);
  connections_ =
      std::make_unique<proxy::Connections>(loop_, config_, [this](std::string_view text, std::uint16_t port) {
        const auto address = access::parse_address(text);
        return address && verdict_->destination(*address, port) == access::Destination::allowed;
      });
  proxy::Services services{.loop = loop_,
                           .resolver = *resolver_,
                           .connections = *connections_,
                           .verdict = *verdict_,
                           .config = config_,
                           .events = [this](const Event& event) { tell(event); },
                           .make_booker = proxy::local_bookers(loop_)};
  make_bookers(services);
  dispatcher_ = std::make_unique<proxy::Dispatcher>(services);
  clients_ = std::make_unique<proxy::Clients>(*dispatcher_, services);
}

/// Upstreams with shared limits book through Redis, where there is one; the others need not wait for it.
void Engine::make_bookers(proxy::Services& services) {
  if (!config_.redis) return;
  office_ = std::make_unique<redis::BookingOffice>(
      loop_, *resolver_, *config_.redis,
      redis::OfficeWatch{.on_round_trip = [this](Duration took) { metrics_->redis_round_trip(took); }},
      [this](const Notice& notice) { notices_(notice); });
  services.make_booker = [this](const std::string& name, const UpstreamSettings& settings, flow::BookerEvents& events) {
    const bool shares = std::ranges::any_of(settings.limits, &LimitConfig::shared);
    return shares ? office_->make_booker(name, settings.limits, events)
                  : office_->make_pausing_booker(name, settings.limits);
  };
}

void Engine::tell(const Event& event) {
  log_->record(event);
  metrics_->record(event);
  for (const auto& observer : observers_) observer(event);
}

void Engine::measure_lag() {
  const std::int64_t now = loop_.now();
  if (lag_due_ != 0) metrics_->loop_lag(Duration{now - lag_due_});
  lag_due_ = now + kLagEvery;
  lag_timer_.start(lag_due_);
  if (now >= next_log_look_) watch_log(now);
}

void Engine::watch_log(std::int64_t now) {
  next_log_look_ = now + kLogLookEvery;
  const std::uint64_t lost = log_->dropped();
  if (lost == std::exchange(lines_lost_, lost)) return;
  notice(LogLevel::warn, "the event log is too slow: " + std::to_string(lost) + " lines lost so far");
}

Snapshot Engine::snapshot() const {
  Snapshot now;
  dispatcher_->snapshot(now);
  now.connections = clients_->count() + now.tunnels.open;
  if (office_) now.redis = redis_snapshot(*office_);
  return now;
}

void Engine::submit(Request request, proxy::LocalRequester::OnResponse on_response) {
  proxy::LocalRequester::submit(loop_, *dispatcher_, config_.proxy.via, std::move(request), std::move(on_response));
}

void Engine::end_all() { dispatcher_->end_all(); }

void Engine::drain(Duration grace, std::move_only_function<void(bool)> when_done) {
  when_drained_.push_back(std::move(when_done));
  if (when_drained_.size() > 1) return;
  notice(LogLevel::info, "draining for up to " + std::to_string(grace.count() / 1'000'000) + " s");
  listener_.reset();
  leave_by_ = loop_.now() + grace.count();
  grace_timer_.start(leave_by_);
  clients_->wind_down();
  dispatcher_->drain([this] {
    grace_timer_.stop();
    leave_timer_.start(loop_.now());
  });
}

void Engine::out_of_grace() {
  in_time_ = false;
  leave_by_ = loop_.now() + kLastWords;
  notice(LogLevel::warn, "out of grace: what is still under way is ended");
  dispatcher_->end_all();
}

void Engine::say_drained(bool in_time) {
  for (auto& when_done : std::exchange(when_drained_, {})) when_done(in_time);
}

/// Answers are complete, but some are still on their way to slow readers.
void Engine::take_leave() {
  clients_->close_idle();
  const bool all_gone = clients_->count() == 0 && loop_.residents() == 0;
  if (all_gone || loop_.now() >= leave_by_) return say_drained(in_time_);
  leave_timer_.start(loop_.now() + kLeaveLookEvery);
}

}  // namespace penstock::app
