// SPDX-License-Identifier: Apache-2.0
// See engine.h: the order in which parts are made, and the calls between them.
#include "app/engine.h"

#include <unistd.h>

#include <utility>

#include "app/authority_file.h"
#include "app/config_hash.h"
#include "app/how_limited.h"
#include "app/limit_words.h"
#include "app/reload.h"
#include "app/route_words.h"
#include "app/system_authorities.h"
#include "app/users_file.h"
#include "observe/notices.h"
#include "observe/state_words.h"
#include "penstock/quotas.h"
#include "proxy/exchange/local_limiters.h"

namespace penstock::app {

namespace {
Error in_one(const std::vector<ConfigError>& errors) {
  std::string all;
  for (const auto& error : errors) all += (all.empty() ? "" : "\n") + to_string(error);
  return {.token = {}, .message = std::move(all)};
}
}  // namespace

Engine::Engine(loop::Loop& loop, Config config, const std::vector<EventSink>& observers, NoticeSink notices)
    : loop_(loop),
      config_(std::move(config)),
      observers_(observers),
      own_notices_(!notices),
      notices_(own_notices_ ? observe::notices_to_stderr(config_.log.level) : std::move(notices)),
      authenticator_(loop),
      interception_(loop, notice_sink()),
      authority_(notice_sink()) {}

Engine::~Engine() { ends_ = true; }

/// For what the engine is made of: goes where notices go, also after a change.
NoticeSink Engine::notice_sink() const {
  return [this](const Notice& notice) { notices_(notice); };
}

std::expected<void, Error> Engine::open(HandedOver& sockets) {
  // Files that no request could use are reported at start.
  if (auto issues = unusable_files(config_); !issues.empty()) {
    return std::unexpected(Error{.token = {}, .message = std::move(issues.front().message)});
  }
  if (auto missing = warning_of_authorities(config_); !missing.empty()) notice(LogLevel::error, std::move(missing));
  auto users = users_of(config_.access);
  if (!users) return std::unexpected(in_one(users.error()));
  authenticator_.set_users(*std::move(users));
  auto authority = authority_of(config_);
  if (!authority) return std::unexpected(std::move(authority.error()));
  take_on(*std::move(authority));
  auto networks = networks_to(config_);
  if (!networks) return std::unexpected(std::move(networks.error()));
  auto log = observe::EventLog::open(config_.log.events);
  if (!log) return std::unexpected(log.error());
  log_ = std::move(*log);
  note_configuration();
  metrics_ = std::make_unique<observe::Metrics>(config_);
  const bool has_successor = static_cast<bool>(sockets.proxy);
  const auto admit = [this](std::unique_ptr<loop::Stream> stream) { clients_->admit(std::move(stream)); };
  auto listening = listener_.open(loop_, config_.proxy.listen, admit, sockets.proxy.release());
  if (!listening) return listening;
  if (auto admin = open_admin(std::move(sockets.admin)); !admin) return admin;
  make_proxy(*std::move(networks));
  if (admin_) {
    admin_->on_resume([this](std::string_view upstream) { return dispatcher_->end_pauses(upstream); });
    admin_->on_ahead([this](const AheadQuery& query, auto told) { ahead(query, std::move(told)); });
    admin_->look_by(sources_of_viewers());
  }
  drain_ = std::make_unique<Drain>(
      loop_,
      Drain::Drained{
          .listener = listener_, .clients = *clients_, .dispatcher = *dispatcher_, .authenticator = authenticator_},
      has_successor, notice_sink());
  loop_.at_iteration_end([this] { log_->flush(); });
  const Watch::Watched watched{.metrics = *metrics_,
                               .log = *log_,
                               .verdict = *verdict_,
                               .authority = authority_,
                               .clients = *clients_,
                               .listener = listener_};
  watch_ = std::make_unique<Watch>(loop_, watched, notice_sink());
  return {};
}

void Engine::note_configuration() { in_force_ = {config_hash(config_), loop_.wall() / 1'000'000}; }

std::expected<void, Error> Engine::open_admin(base::UniqueFd socket) {
  if (config_.admin.listen.address.empty()) return {};
  auto admin = observe::AdminServer::listen(
      loop_, as_bound(), *metrics_, [this](const SnapshotExtent& extent) { return snapshot(extent); },
      [this] { return log_->dropped(); }, socket.release());
  if (!admin) return std::unexpected(admin.error());
  admin_ = std::move(*admin);
  return {};
}

/// With the port that was really bound, for /status.
Config Engine::as_bound() const {
  Config shown = config_;
  shown.proxy.listen = listener_.bound();
  return shown;
}

/// The verdict is replaced first, so that every later question gets the new one.
void Engine::change(Config config, std::optional<access::Users> users, std::shared_ptr<const tls::Authority> authority,
                    Networks networks) {
  config_ = std::move(config);
  note_configuration();
  authenticator_.set_users(std::move(users));
  take_on(std::move(authority));
  verdict_->change();
  if (own_notices_) notices_ = observe::notices_to_stderr(config_.log.level);
  pools_->change(config_);
  limits_->change(std::move(networks));
  dispatcher_->change();
  limits_->leave_former();
  clients_->reevaluate_access();
  metrics_->change(config_, snapshot({.groups = false}));
  reloaded({});
  if (admin_) admin_->change(as_bound());
}

void Engine::tell_of_reloads(std::string file) {
  reload_ = ReloadSnapshot{.process = ::getpid(), .file = std::move(file), .count = 0, .errors = {}};
}

void Engine::not_changed(const std::vector<ConfigError>& why) {
  std::vector<std::string> errors;
  errors.reserve(why.size());
  for (const auto& error : why) errors.push_back(to_string(error));
  reloaded(std::move(errors));
}

/// Without errors it was taken on.
void Engine::reloaded(std::vector<std::string> errors) {
  metrics_->reloaded(errors.empty());
  if (!reload_) return;
  ++reload_->count;
  reload_->errors = std::move(errors);
}

void Engine::take_on(std::shared_ptr<const tls::Authority> authority) {
  authority_.change(std::move(authority));
  interception_.change(config_.intercept, authority_.get());
}

void Engine::make_proxy(Networks networks) {
  resolver_ = std::make_unique<loop::Resolver>(loop_, config_.dns);
  std::vector<Endpoint> own{listener_.bound()};
  if (admin_) own.push_back(admin_->bound());
  verdict_ = std::make_unique<LiveVerdict>(*resolver_, config_, own, notice_sink());
  pools_ = std::make_unique<proxy::UpstreamPools>(loop_, config_, verdict_->verdict());
  limits_ = std::make_unique<SharedLimits>(
      loop_, *resolver_, std::move(networks), config_, state_folder_,
      SharedLimits::Watch{.on_found = [this](const std::vector<Endpoint>& of_redis) { verdict_->close(of_redis); },
                          .on_round_trip = [this](const std::string& redis,
                                                  Duration took) { metrics_->redis_round_trip(redis, took); }},
      notice_sink());
  proxy::Services services{.loop = loop_,
                           .resolver = *resolver_,
                           .connections = *pools_,
                           .verdict = verdict_->verdict(),
                           .config = config_,
                           .events = [this](const Event& event) { tell(event); },
                           .make_limiter = proxy::local_limiters(loop_),
                           .authenticator = &authenticator_,
                           .notices = notice_sink(),
                           .interception = &interception_};
  limits_->provide(services);
  dispatcher_ = std::make_unique<proxy::Dispatcher>(services);
  clients_ = std::make_unique<proxy::Clients>(*dispatcher_, services);
}

/// A snapshot a second must not hold up the loop, however many hosts fall under "*".
observe::Viewers::Sources Engine::sources_of_viewers() {
  return {.snapshot = [this] { return snapshot({.upstreams = observe::LiveTexts::kMostUpstreams}); },
          .prepare = [this](std::function<void()> seen) { look(std::move(seen)); },
          .details = [this](std::string_view upstream) { return dispatcher_->details(upstream); },
          .explain = [this](std::string_view upstream) { return explain(upstream); }};
}

std::string Engine::explain(std::string_view upstream) const {
  std::size_t entry = config_.upstreams.size();
  while (entry > 0 && config_.upstreams[entry - 1].name != upstream) --entry;
  const auto* const named = entry == 0 ? nullptr : &config_.upstreams[entry - 1];
  const auto settings = named ? effective_settings(config_, *named) : config_.unmatched;
  std::string text = how_limited(config_, entry, "http://" + to_string(listener_.bound()));
  if (named && !named->preset.empty()) text += "\n" + preset_of(*named);
  if (named && !named->quota.empty()) text += "\n" + quota_in_words(config_, *named);
  for (const auto& limit : settings.limits)
    text += "\n" + limit_in_words(limit, redis_of(config_, settings) != nullptr);
  for (const auto& route : settings.routes) text += "\n" + route_in_words(route, settings.redact);
  return text + "\nat most " + std::to_string(settings.max_concurrent) + " in flight; at most " +
         std::to_string(settings.queue.max_pending) + " wait, no longer than " +
         observe::rounded(settings.queue.max_wait);
}

void Engine::tell(const Event& event) {
  log_->record(event);
  metrics_->record(event);
  if (admin_ && admin_->is_watched()) admin_->record(event);
  for (const auto& observer : observers_) observer(event);
}

Snapshot Engine::snapshot(const SnapshotExtent& extent) const {
  Snapshot now;
  dispatcher_->snapshot(now, extent);
  now.config_hash = in_force_.hash;
  now.loaded_at = in_force_.since;
  now.draining = now.draining || drain_->under_way();
  now.connections = clients_->count() + now.tunnels.open;
  now.turned_away = clients_->turned_away();
  now.accept_pauses = listener_.pauses();
  now.redis = limits_->snapshot();
  for (auto& one : now.upstreams) one.degraded = limits_->degraded(one.quota.empty() ? one.name : one.quota);
  now.reload = reload_;
  if (authority_.get()) now.authority_end = authority_.get()->good_until();
  return now;
}

void Engine::submit(Request request, proxy::LocalSink::OnResponse on_response) {
  proxy::LocalSink::submit(loop_, *dispatcher_, config_.proxy.via, std::move(request), std::move(on_response));
}

void Engine::acquire(const std::string& upstream, const PermitOptions& options,
                     proxy::LocalPermit::OnAnswer on_answer) {
  proxy::LocalPermit::acquire(loop_, *dispatcher_, upstream, options, std::move(on_answer));
}

namespace {
/// Tells it once, also if the limiter that was to look ends before it has; not when the engine ends.
class AwaitedAhead {
 public:
  AwaitedAhead(observe::AdminServer::OnAhead told, const bool& engine_ends)
      : told_(std::move(told)), engine_ends_(engine_ends) {}
  ~AwaitedAhead() {
    if (!engine_ends_) tell(std::unexpected(http::Refusal{.why = http::Reason::limiter_down, .details = kReplaced}));
  }
  AwaitedAhead(const AwaitedAhead&) = delete;
  AwaitedAhead& operator=(const AwaitedAhead&) = delete;
  void tell(std::expected<Ahead, http::Refusal> ahead) {
    if (auto told = std::exchange(told_, nullptr)) told(std::move(ahead));
  }

 private:
  static constexpr const char* kReplaced = "the limits were replaced meanwhile; ask again";
  observe::AdminServer::OnAhead told_;
  const bool& engine_ends_;
};

std::expected<Ahead, http::Refusal> ahead_of(const std::expected<proxy::Foresight, http::Refusal>& seen) {
  if (!seen) return std::unexpected(seen.error());
  return seen->ahead;
}
}  // namespace

/// Other processes that share the limits are asked first what waits in them.
void Engine::ahead(const AheadQuery& query, observe::AdminServer::OnAhead told) {
  const auto of = dispatcher_->ahead(query, proxy::Foresee::limiter);
  if (!of) return told(std::unexpected(of.error()));
  const auto awaited = std::make_shared<AwaitedAhead>(std::move(told), ends_);
  const auto answer = [this, query, awaited] { awaited->tell(ahead_of(dispatcher_->ahead(query))); };
  if (!limits_->look_ahead(of->limiter, answer)) answer();
}

void Engine::end_all() { dispatcher_->end_all(); }

}  // namespace penstock::app
