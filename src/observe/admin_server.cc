// SPDX-License-Identifier: Apache-2.0
// See admin_server.h: the listening socket, the connections, and what each page says. The loop's worker makes long
// texts; a lock keeps it from using what is destroyed with the server.
#include "observe/admin_server.h"

#include <algorithm>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "base/percent.h"
#include "http/browser_guard.h"
#include "loop/listener.h"
#include "observe/admin_connection.h"

namespace penstock::observe {
namespace {

using Answer = AdminConnection::Answer;

constexpr std::size_t kMostConnections = 64;
constexpr std::string_view kPages = "/metrics /healthz /readyz /status";
constexpr std::string_view kResume = "/resume", kUpstream = "upstream=";

/// IPv4-mapped ones too, as which peers come to a listener on all addresses.
bool is_loopback(std::string_view address) {
  constexpr std::string_view kMapped = "::ffff:";
  if (address.starts_with(kMapped)) address.remove_prefix(kMapped.size());
  return address == "::1" || address.starts_with("127.");
}

/// What the query of `target` has for `upstream`. With a faulty escape it stays as it is.
std::string upstream_in(std::string_view target) {
  const auto query = target.find('?');
  if (query == std::string_view::npos) return {};
  for (target.remove_prefix(query + 1); !target.empty();) {
    const auto part = target.substr(0, target.find('&'));
    if (part.starts_with(kUpstream)) {
      const auto name = part.substr(kUpstream.size());
      return base::percent_decoded(name).value_or(std::string(name));
    }
    target.remove_prefix(std::min(target.size(), part.size() + 1));
  }
  return {};
}

// Closed when the server ends. Its end waits for a text under way: the worker reads the server's metrics under the
// lock.
struct Authenticator {
  std::mutex mutex;
  bool closed = false;
};

}  // namespace

struct AdminServer::Impl final : AdminConnection::Pages {
  Impl(loop::Loop& its_loop, const Config& its_config, Metrics& its_metrics, SnapshotSource source,
       std::function<std::uint64_t()> dropped)
      : loop(its_loop),
        config(std::make_shared<const Config>(its_config)),
        metrics(its_metrics),
        snapshot(std::move(source)),
        events_dropped(std::move(dropped)) {}
  ~Impl();

  void accept(std::unique_ptr<loop::Stream> stream);
  bool make_room();
  std::optional<Answer> answer(std::uint64_t connection, const http::RequestHead& head, std::string_view path) override;
  void ended(std::uint64_t connection) override { connections.erase(connection); }

  bool is_for(const http::RequestHead& head) const;
  Answer readiness() const;
  Answer resumed(std::uint64_t connection, const http::RequestHead& head) const;
  std::string no_such(const std::string& upstream) const;
  void answer_with_metrics(std::uint64_t connection);
  void answer_with_status(std::uint64_t connection);
  void write_elsewhere(std::uint64_t connection, std::string type, std::move_only_function<std::string()> text);
  void deliver(std::uint64_t connection, const Answer& answer);

  loop::Loop& loop;
  std::shared_ptr<const Config> config;  // with the address that was really bound; a text under way keeps its own
  Metrics& metrics;
  SnapshotSource snapshot;
  std::function<std::uint64_t()> events_dropped;
  EndPauses end_pauses;
  std::shared_ptr<Authenticator> authenticator = std::make_shared<Authenticator>();
  std::unique_ptr<loop::Listener> listener;
  std::unordered_map<std::uint64_t, std::unique_ptr<AdminConnection>> connections;
  std::uint64_t last_id = 0;
};

AdminServer::Impl::~Impl() {
  const std::lock_guard lock{authenticator->mutex};
  authenticator->closed = true;
}

void AdminServer::Impl::accept(std::unique_ptr<loop::Stream> stream) {
  if (connections.size() >= kMostConnections && !make_room()) return;
  const std::uint64_t id = ++last_id;
  connections.emplace(id, std::make_unique<AdminConnection>(id, loop, std::move(stream), *this));
}

/// Drops the least useful idle connection: silent clients must not block a probe, which may kill an unanswered process.
bool AdminServer::Impl::make_room() {
  auto least = connections.end();
  const auto worth = [](const AdminConnection& one) { return std::pair(one.has_asked(), one.last_moved()); };
  for (auto place = connections.begin(); place != connections.end(); ++place) {
    if (!place->second->is_idle()) continue;
    if (least == connections.end() || worth(*place->second) < worth(*least->second)) least = place;
  }
  if (least == connections.end()) return false;
  connections.erase(least);
  return true;
}

/// Rejects requests from pages in browsers. On loopback the host name must be ours, since any page could use another
/// one; elsewhere a scraper may know this process by such a name.
bool AdminServer::Impl::is_for(const http::RequestHead& head) const {
  return !http::comes_from_other_page(head.fields) &&
         (!is_loopback(config->admin.listen.address) || http::is_our_host(head.fields, config->proxy.names));
}

std::optional<Answer> AdminServer::Impl::answer(std::uint64_t connection, const http::RequestHead& head,
                                                std::string_view path) {
  const std::string_view method = head.method;
  if (!is_for(head))
    return Answer{.status = 403, .body = "Not for pages in browsers, nor by a name that one could have.\n"};
  if (path == kResume) return resumed(connection, head);
  const bool known = path == "/metrics" || path == "/healthz" || path == "/readyz" || path == "/status";
  if (!known)
    return Answer{.status = 404,
                  .body = "There is " + std::string{kPages} + " here, and POST of " + std::string{kResume} + ".\n"};
  if (method != "GET" && method != "HEAD") {
    return Answer{.status = 405, .body = "Only GET and HEAD are answered here.\n", .allow = "GET, HEAD"};
  }
  if (path == "/healthz") return Answer{.body = "ok\n"};
  if (path == "/readyz") return readiness();
  path == "/metrics" ? answer_with_metrics(connection) : answer_with_status(connection);
  return std::nullopt;
}

Answer AdminServer::Impl::readiness() const {
  if (snapshot().draining) return {.status = 503, .body = "draining\n"};
  return {.body = "ready\n"};
}

/// This changes what the process does, and is asked of it by `penstock resume` alone: elsewhere only numbers are told.
Answer AdminServer::Impl::resumed(std::uint64_t connection, const http::RequestHead& head) const {
  if (head.method != "POST") return {.status = 405, .body = "Only POST is answered here.\n", .allow = "POST"};
  const bool local = is_loopback(connections.at(connection)->peer().address);
  if (!local || !http::is_our_host(head.fields, config->proxy.names))
    return {.status = 403, .body = "Only from the machine that it runs on, and by its address.\n"};
  const std::string upstream = upstream_in(head.target);
  const auto ended = end_pauses ? end_pauses(upstream) : std::nullopt;
  if (!ended) return {.status = 404, .body = no_such(upstream)};
  return {.body = *ended ? upstream + ": its pauses end now\n" : upstream + ": no pause that this process knows of\n"};
}

std::string AdminServer::Impl::no_such(const std::string& upstream) const {
  std::string names;
  for (const auto& one : snapshot().upstreams) {
    if (one.entry != 0) names += (names.empty() ? "" : ", ") + one.name;
  }
  const std::string there = names.empty() ? "no upstream has a name" : "there are " + names;
  return "no upstream '" + upstream + "': " + there + ", and host:port of those that no entry names\n";
}

void AdminServer::Impl::answer_with_metrics(std::uint64_t connection) {
  metrics.set(snapshot(), events_dropped(), loop.now());
  write_elsewhere(connection, "text/plain; version=0.0.4; charset=utf-8", [this] { return metrics.text(); });
}

void AdminServer::Impl::answer_with_status(std::uint64_t connection) {
  write_elsewhere(connection, "application/json",
                  [config = config, now = snapshot()] { return status_json(now, *config); });
}

void AdminServer::Impl::write_elsewhere(std::uint64_t connection, std::string type,
                                        std::move_only_function<std::string()> text) {
  auto answer = std::make_shared<Answer>(Answer{.type = std::move(type), .body = {}});
  loop.offload(
      [guard = authenticator, answer, text = std::move(text)]() mutable {
        const std::lock_guard lock{guard->mutex};
        if (!guard->closed) answer->body = text();
      },
      [this, guard = authenticator, answer, connection] {
        if (!guard->closed) deliver(connection, *answer);
      });
}

void AdminServer::Impl::deliver(std::uint64_t connection, const Answer& answer) {
  const auto found = connections.find(connection);
  if (found != connections.end()) found->second->answer_later(answer);
}

std::expected<std::unique_ptr<AdminServer>, Error> AdminServer::listen(loop::Loop& loop, const Config& config,
                                                                       Metrics& metrics, SnapshotSource snapshot,
                                                                       std::function<std::uint64_t()> events_dropped,
                                                                       int handed_over) {
  auto impl = std::make_unique<Impl>(loop, config, metrics, std::move(snapshot), std::move(events_dropped));
  auto listener = loop::Listener::listen(
      loop, config.admin.listen, [server = impl.get()](auto stream) { server->accept(std::move(stream)); }, 0,
      handed_over);
  if (!listener) return std::unexpected(std::move(listener.error()));
  impl->listener = std::move(*listener);
  auto server = std::unique_ptr<AdminServer>{new AdminServer(std::move(impl))};
  server->change(config);
  return server;
}

void AdminServer::on_resume(EndPauses end_pauses) { impl_->end_pauses = std::move(end_pauses); }

void AdminServer::change(const Config& config) {
  auto shown = std::make_shared<Config>(config);
  shown->admin.listen = bound();
  impl_->config = std::move(shown);
}

AdminServer::AdminServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

AdminServer::~AdminServer() = default;

Endpoint AdminServer::bound() const { return impl_->listener->bound(); }

}  // namespace penstock::observe
