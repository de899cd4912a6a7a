// SPDX-License-Identifier: Apache-2.0
// Behind penstock/proxy.h: one thread with one loop and one engine, and the calls by which other threads reach it.
#include "penstock/proxy.h"

#include <pthread.h>

#include <algorithm>
#include <csignal>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "app/authority_file.h"
#include "app/engine.h"
#include "app/reload.h"
#include "app/users_file.h"
#include "loop/loop.h"

namespace penstock {

namespace {
constexpr Duration kLongestGrace = 24h * 365;  // "however long it takes" must not overflow

/// Makes writing to a closed connection an error like any other, in this thread and in those that it starts.
void block_sigpipe() {
  sigset_t pipe;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
}

/// The URL by which a client on this machine reaches it.
std::string reachable(Endpoint endpoint) {
  if (endpoint.address == "0.0.0.0") endpoint.address = "127.0.0.1";
  if (endpoint.address == "::") endpoint.address = "::1";
  return "http://" + to_string(endpoint);
}

std::string joined(const std::vector<ConfigError>& errors) {
  std::string all;
  for (const auto& error : errors) all += (all.empty() ? "" : "; ") + error.message;
  return all;
}

using Read = std::expected<Config, std::vector<ConfigError>>;

ConfigError not_running() { return {.file = {}, .message = "the proxy is not running"}; }

/// The way to the loop for other threads. Permits refer to it, so it may outlive the proxy.
struct WayToLoop {
  std::mutex mutex;
  loop::Loop* loop = nullptr;  // null unless it runs

  /// Runs `task` on the loop's thread; false once the loop has ended.
  bool post(std::move_only_function<void()> task) {
    const std::lock_guard lock(mutex);
    if (!loop) return false;
    loop->post(std::move(task));
    return true;
  }
};
}  // namespace

struct Proxy::Impl {
  explicit Impl(Config its_config) : config(std::move(its_config)) {}

  void live(std::promise<std::expected<void, Error>> started);
  bool post(std::move_only_function<void()> task) { return way->post(std::move(task)); }

  /// `next` has been validated, except for the file of users.
  std::expected<void, std::vector<ConfigError>> take_on(const Config& next);
  /// Counts a failed reload.
  std::expected<void, std::vector<ConfigError>> reload(const Read& next);

  mutable std::mutex reloading;
  Config config;  // in force
  const std::string events = config.log.events;
  std::vector<EventSink> observers;
  NoticeSink notices;
  app::HandedOver sockets;
  std::string state_folder;
  std::string reloaded_file;  // by SIGHUP; empty: none
  std::string url, admin_url;
  std::thread thread;
  bool begun = false;
  std::mutex joining;

  const std::shared_ptr<WayToLoop> way = std::make_shared<WayToLoop>();
  app::Engine* engine = nullptr;  // as long as the loop runs
};

void Proxy::Impl::live(std::promise<std::expected<void, Error>> started) {
  block_sigpipe();
  loop::Loop own_loop;
  {
    app::Engine own_engine(own_loop, config, observers, notices);
    own_engine.keep_state_in(state_folder);
    if (!reloaded_file.empty()) own_engine.tell_of_reloads(reloaded_file);
    if (auto opened = own_engine.open(sockets); !opened) return started.set_value(std::move(opened));
    url = reachable(own_engine.proxy_endpoint());
    if (const auto admin = own_engine.admin_endpoint(); !admin.address.empty()) admin_url = reachable(admin);
    engine = &own_engine;
    {
      const std::lock_guard lock(way->mutex);
      way->loop = &own_loop;
    }
    started.set_value({});
    own_loop.run();
    {
      const std::lock_guard lock(way->mutex);
      way->loop = nullptr;
    }
    own_loop.run_posted();
    own_engine.end_all();
    own_loop.run_iteration_ends();
  }
}

Proxy::Proxy(Config config) : impl_(std::make_unique<Impl>(std::move(config))) {}

Proxy::~Proxy() { stop(); }

void Proxy::observe(EventSink sink) { impl_->observers.push_back(std::move(sink)); }

void Proxy::observe_notices(NoticeSink sink) { impl_->notices = std::move(sink); }

void Proxy::listen_on(int proxy, int admin) {
  impl_->sockets.proxy = base::UniqueFd(proxy);
  impl_->sockets.admin = base::UniqueFd(admin);
}

void Proxy::keep_state_in(std::string folder) { impl_->state_folder = std::move(folder); }

void Proxy::reloads_on_hangup(std::string file) { impl_->reloaded_file = std::move(file); }

std::expected<void, Error> Proxy::start() {
  if (std::exchange(impl_->begun, true)) return std::unexpected(Error{{}, "a proxy starts only once"});
  if (const auto errors = validate(impl_->config); !errors.empty()) {
    return std::unexpected(Error{.token = {}, .message = joined(errors)});
  }
  std::promise<std::expected<void, Error>> promise;
  auto started = promise.get_future();
  impl_->thread =
      std::thread([impl = impl_.get(), promise = std::move(promise)]() mutable { impl->live(std::move(promise)); });
  auto result = started.get();
  if (!result) impl_->thread.join();
  return result;
}

std::string Proxy::url() const { return impl_->url; }
std::string Proxy::admin_url() const { return impl_->admin_url; }

void Proxy::submit(Request request, ResponseSink on_response) {
  auto shared = std::make_shared<ResponseSink>(std::move(on_response));
  const bool posted = impl_->post([impl = impl_.get(), request = std::move(request), shared]() mutable {
    impl->engine->submit(std::move(request), std::move(*shared));
  });
  if (!posted) (*shared)(std::unexpected(Error{.token = {}, .message = "the proxy is not running"}));
}

std::expected<Permit, PermitRefusal> Proxy::acquire(std::string_view upstream, const PermitOptions& options) {
  using Answer = std::expected<proxy::LocalPermit::Granted, http::Refusal>;
  std::promise<Answer> promise;
  auto answered = promise.get_future();
  const bool posted =
      impl_->post([impl = impl_.get(), name = std::string(upstream), options, promise = std::move(promise)]() mutable {
        impl->engine->acquire(name, options, [promise = std::move(promise)](Answer answer) mutable {
          promise.set_value(std::move(answer));
        });
      });
  if (!posted) return std::unexpected(PermitRefusal{.message = "the proxy is not running"});
  auto answer = answered.get();
  if (!answer) {
    const auto& why = answer.error();
    return std::unexpected(PermitRefusal{why.status_code(), why.details, why.retry_after});
  }
  const auto& hold = answer->hold;
  return Permit(std::move(answer->id), {hold, &hold->held},
                [way = impl_->way, hold] { way->post([hold] { proxy::LocalPermit::release(*hold); }); });
}

std::expected<Ahead, AheadRefusal> Proxy::ahead(const AheadQuery& query) const {
  using Answer = std::expected<Ahead, http::Refusal>;
  std::promise<Answer> promise;
  auto answered = promise.get_future();
  const bool posted = impl_->post([impl = impl_.get(), query, promise = std::move(promise)]() mutable {
    impl->engine->ahead(
        query, [promise = std::move(promise)](Answer answer) mutable { promise.set_value(std::move(answer)); });
  });
  const AheadRefusal not_running{.message = "the proxy is not running"};
  if (!posted) return std::unexpected(not_running);
  try {
    auto answer = answered.get();
    if (answer) return *std::move(answer);
    return std::unexpected(AheadRefusal{answer.error().status_code(), answer.error().details});
  } catch (const std::future_error&) {  // it has stopped meanwhile
    return std::unexpected(not_running);
  }
}

namespace {
/// Kept once nothing refers to it any more: the loop may end before anything is taken.
struct SnapshotPromise {
  SnapshotPromise() = default;
  SnapshotPromise(const SnapshotPromise&) = delete;
  SnapshotPromise& operator=(const SnapshotPromise&) = delete;
  ~SnapshotPromise() { promise.set_value(std::move(snapshot)); }

  std::promise<Snapshot> promise;
  Snapshot snapshot;
};
}  // namespace

Snapshot Proxy::snapshot() const {
  auto promise = std::make_shared<SnapshotPromise>();
  auto taken = promise->promise.get_future();
  const bool posted = impl_->post([impl = impl_.get(), promise = std::move(promise)] {
    impl->engine->look([impl, promise] { promise->snapshot = impl->engine->snapshot(); });
  });
  return posted ? taken.get() : Snapshot{};
}

bool Proxy::responds() const {
  std::promise<void> promise;
  auto turned = promise.get_future();
  const bool posted = impl_->post([promise = std::move(promise)]() mutable { promise.set_value(); });
  if (posted) turned.get();
  return posted;
}

std::expected<void, std::vector<ConfigError>> Proxy::Impl::take_on(const Config& next) {
  auto users = app::users_of(next.access);
  if (!users) return std::unexpected(std::move(users.error()));
  auto authority = app::authority_of(next);
  if (!authority) return std::unexpected(std::vector{ConfigError{.message = std::move(authority.error().message)}});
  auto networks = app::networks_to(next);
  if (!networks) return std::unexpected(std::vector{ConfigError{.message = std::move(networks.error().message)}});
  std::promise<void> promise;
  auto changed = promise.get_future();
  const bool posted = post([this, copy = next, users = *std::move(users), authority = *std::move(authority),
                            networks = *std::move(networks), promise = std::move(promise)]() mutable {
    engine->change(std::move(copy), std::move(users), std::move(authority), std::move(networks));
    promise.set_value();
  });
  if (!posted) return std::unexpected(std::vector{not_running()});
  changed.get();
  config = next;
  return {};
}

std::expected<void, std::vector<ConfigError>> Proxy::Impl::reload(const Read& next) {
  auto done = next ? take_on(*next) : std::unexpected(next.error());
  if (!done) post([this, why = done.error()] { engine->not_changed(why); });
  return done;
}

std::expected<void, std::vector<ConfigError>> Proxy::reload(Config config) {
  const std::lock_guard lock(impl_->reloading);
  auto errors = validate(config);
  if (errors.empty()) {
    for (auto& issue : app::why_not_reload(impl_->config, config)) {
      errors.push_back({.file = {}, .message = std::move(issue.message)});
    }
  }
  return impl_->reload(errors.empty() ? Read(std::move(config)) : std::unexpected(std::move(errors)));
}

std::expected<void, std::vector<ConfigError>> Proxy::reload(const std::string& file, const Environment& environment) {
  const std::lock_guard lock(impl_->reloading);
  std::vector<ConfigError> warnings;
  auto config = config::load_config(
      file, environment, [this](const Config& read) { return app::why_not_reload(impl_->config, read); }, warnings);
  for (const auto& warning : warnings) {
    impl_->post([impl = impl_.get(), text = to_string(warning)] { impl->engine->warn(text); });
  }
  return impl_->reload(config);
}

Config Proxy::config() const {
  const std::lock_guard lock(impl_->reloading);
  return impl_->config;
}

std::expected<void, Error> Proxy::reopen_log() {
  auto file = observe::EventLog::open_anew(impl_->events);
  if (!file) {
    impl_->post([impl = impl_.get(), why = file.error()] { impl->engine->not_reopened(why); });
    return std::unexpected(std::move(file.error()));
  }
  impl_->post([impl = impl_.get(), next = *std::move(file)]() mutable { impl->engine->reopen_log(std::move(next)); });
  return {};
}

bool Proxy::drain(Duration deadline) {
  deadline = std::clamp<Duration>(deadline, 0s, kLongestGrace);
  std::promise<bool> promise;
  auto drained = promise.get_future();
  const bool posted = impl_->post([impl = impl_.get(), deadline, promise = std::move(promise)]() mutable {
    impl->engine->drain(deadline, [promise = std::move(promise)](bool in_time) mutable { promise.set_value(in_time); });
  });
  const bool in_time = posted && drained.get();
  stop();
  return in_time;
}

void Proxy::stop() {
  {
    const std::lock_guard lock(impl_->way->mutex);
    if (impl_->way->loop) impl_->way->loop->stop();
  }
  const std::lock_guard lock(impl_->joining);
  if (impl_->thread.joinable()) impl_->thread.join();
}

}  // namespace penstock
