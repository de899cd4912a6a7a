// SPDX-License-Identifier: Apache-2.0
// See admin_server.h: the listening socket, the connections, and what each page says. The loop's worker makes long
// texts; a lock keeps it from using what is destroyed with the server.
#include "observe/admin_server.h"

#include <algorithm>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "http/browser_guard.h"
#include "loop/listener.h"
#include "observe/admin_connection.h"
#include "observe/ahead_text.h"
#include "observe/live/page.h"
#include "observe/live/plain_rows.h"
#include "observe/query.h"
#include "observe/status_json.h"

namespace penstock::observe {
namespace {

using Answer = AdminConnection::Answer;

constexpr std::size_t kMostConnections = 64;
constexpr std::string_view kPages = "/metrics /healthz /readyz /status /ahead", kLivePages = " / /live /events";
constexpr std::string_view kResume = "/resume";
constexpr SnapshotExtent kOfProcess{.upstreams = 0, .groups = false}, kWithoutGroups{.groups = false};
constexpr std::string_view kNotForPages = "Not for pages in browsers, nor by a name that one could have.\n";
constexpr std::string_view kFull =
    "Eight look already, and there is no place for a ninth: one of the pages or programs on /live and /events must "
    "leave first.\n";

/// IPv4-mapped ones too, as which peers come to a listener on all addresses.
bool is_loopback(std::string_view address) {
  constexpr std::string_view kMapped = "::ffff:";
  if (address.starts_with(kMapped)) address.remove_prefix(kMapped.size());
  return address == "::1" || address.starts_with("127.");
}

/// A refusal is what the request itself would be told.
Answer answer_with(const std::expected<Ahead, http::Refusal>& ahead) {
  if (!ahead) return {.status = ahead.error().status_code(), .body = ahead.error().details + "\n"};
  return {.type = "application/json", .body = ahead_json(*ahead)};
}

std::string upstream_in(std::string_view target) { return asked_for("upstream", target); }

/// What a client is told that may not see details; `all` lets every client see them.
std::string why_no_details(AdminDetails details) {
  const std::string what = "paths, ids, users, clients, groups, events and /ahead are shown to ";
  return details == AdminDetails::off ? what + "nobody here (admin.details: off)"
                                      : what + "clients on the machine that it runs on alone (admin.details: loopback)";
}

Answer page_answer() {
  Answer answer{.type = "text/html; charset=utf-8", .body = std::string(page())};
  answer.more.add("Content-Security-Policy", page_policy());
  answer.more.add("Referrer-Policy", "no-referrer");
  return answer;
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
        events_dropped(std::move(dropped)),
        viewers(its_loop, {.snapshot = [this] { return snapshot({}); }}) {}
  ~Impl();

  void accept(std::unique_ptr<loop::Stream> stream);
  bool make_room();
  std::optional<Answer> answer(std::uint64_t connection, const http::RequestHead& head, std::string_view path) override;
  void ended(std::uint64_t connection) override { connections.erase(connection); }

  bool is_for(const http::RequestHead& head) const;
  bool is_of_page(std::string_view path) const;
  bool may_see_details(std::uint64_t connection, const http::RequestHead& head) const;
  Details details_for(std::uint64_t connection, const http::RequestHead& head) const;
  std::optional<Answer> answer_page(std::uint64_t connection, const http::RequestHead& head, std::string_view path);
  Answer stream(std::uint64_t connection, const http::RequestHead& head, bool live);
  Answer readiness() const;
  std::optional<Answer> foretold(std::uint64_t connection, const http::RequestHead& head);
  Answer resumed(std::uint64_t connection, const http::RequestHead& head) const;
  std::string no_such(const std::string& upstream) const;
  void when_prepared(std::function<void()> then);
  void answer_with_metrics(std::uint64_t connection);
  void answer_with_status(std::uint64_t connection, const http::RequestHead& head);
  void answer_with_text(std::uint64_t connection);
  void write_elsewhere(std::uint64_t connection, std::string type, std::move_only_function<std::string()> text);
  void deliver(std::uint64_t connection, const Answer& answer);

  loop::Loop& loop;
  std::shared_ptr<const Config> config;  // with the address that was really bound; a text under way keeps its own
  Metrics& metrics;
  SnapshotSource snapshot;
  Viewers::Prepare prepare;
  std::function<std::uint64_t()> events_dropped;
  EndPauses end_pauses;
  Foretell foretell;
  std::shared_ptr<Authenticator> authenticator = std::make_shared<Authenticator>();
  std::unique_ptr<loop::Listener> listener;
  std::unordered_map<std::uint64_t, std::unique_ptr<AdminConnection>> connections;
  std::uint64_t last_id = 0;
  Viewers viewers;
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
  if (!is_for(head)) return Answer{.status = 403, .body = std::string{kNotForPages}};
  if (path == kResume) return resumed(connection, head);
  const bool known =
      path == "/metrics" || path == "/healthz" || path == "/readyz" || path == "/status" || path == "/ahead";
  if (!known && !is_of_page(path)) {
    return Answer{.status = 404,
                  .body = "There is " + std::string{kPages} + (config->admin.page ? std::string{kLivePages} : "") +
                          " here, and POST of " + std::string{kResume} + ".\n"};
  }
  if (method != "GET" && method != "HEAD") {
    return Answer{.status = 405, .body = "Only GET and HEAD are answered here.\n", .allow = "GET, HEAD"};
  }
  if (path == "/healthz") return Answer{.body = "ok\n"};
  if (path == "/readyz") return readiness();
  if (path == "/ahead") return foretold(connection, head);
  if (path == "/metrics") return answer_with_metrics(connection), std::nullopt;
  if (path == "/status") return answer_with_status(connection, head), std::nullopt;
  return answer_page(connection, head, path);
}

bool AdminServer::Impl::is_of_page(std::string_view path) const {
  return config->admin.page && (path == "/" || path == "/live" || path == "/events");
}

/// A page from elsewhere must not pass for a client on this machine, hence the look at the name that was asked for.
bool AdminServer::Impl::may_see_details(std::uint64_t connection, const http::RequestHead& head) const {
  switch (config->admin.details) {
    case AdminDetails::all: return true;
    case AdminDetails::off: return false;
    case AdminDetails::loopback: break;
  }
  return is_loopback(connections.at(connection)->peer().address) && http::is_our_host(head.fields, config->proxy.names);
}

Details AdminServer::Impl::details_for(std::uint64_t connection, const http::RequestHead& head) const {
  const bool shown = may_see_details(connection, head);
  return {.shown = shown, .why = shown ? "" : why_no_details(config->admin.details)};
}

std::optional<Answer> AdminServer::Impl::answer_page(std::uint64_t connection, const http::RequestHead& head,
                                                     std::string_view path) {
  if (path == "/live") return stream(connection, head, true);
  if (path == "/events") return stream(connection, head, false);
  if (head.fields.find("accept").value_or("").contains("text/html")) return page_answer();
  answer_with_text(connection);
  return std::nullopt;
}

Answer AdminServer::Impl::stream(std::uint64_t connection, const http::RequestHead& head, bool live) {
  const auto [shown, why] = details_for(connection, head);
  if (!live && !shown) return {.status = 403, .body = why + "\n"};
  if (!viewers.has_room()) return {.status = 503, .body = std::string{kFull}};
  Viewer::Wish wish{.live = live,
                    .details = shown,
                    .upstream = upstream_in(head.target),
                    .event = live ? "" : asked_for("event", head.target)};
  return {.type = "text/event-stream",
          .body = "retry: 2000\n\n",
          .taker = [this, wish = std::move(wish)](std::unique_ptr<loop::Stream> taken) {
            viewers.add(std::move(taken), wish);
          }};
}

Answer AdminServer::Impl::readiness() const {
  if (snapshot(kOfProcess).draining) return {.status = 503, .body = "draining\n"};
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

std::optional<Answer> AdminServer::Impl::foretold(std::uint64_t connection, const http::RequestHead& head) {
  if (const auto [shown, why] = details_for(connection, head); !shown)
    return Answer{.status = 403, .body = why + "\n"};  // it tells what `access` allows, and which groups wait
  const auto query = ahead_query(head.target);
  if (!query) return Answer{.status = 400, .body = query.error() + "\n"};
  if (!foretell) return Answer{.status = 503, .body = "not yet\n"};
  struct Told {
    std::optional<Answer> answer;
    bool is_awaited = false;  // it comes later
  };
  const auto told = std::make_shared<Told>();
  foretell(*query, [this, guard = authenticator, told, connection](const auto& ahead) {
    if (!told->is_awaited) return void(told->answer = answer_with(ahead));
    if (!guard->closed) deliver(connection, answer_with(ahead));
  });
  told->is_awaited = !told->answer;
  return std::move(told->answer);
}

std::string AdminServer::Impl::no_such(const std::string& upstream) const {
  std::vector<std::string> all;
  for (const auto& one : snapshot(kWithoutGroups).upstreams) {
    if (one.entry != 0) all.push_back(one.name);
    if (!one.quota.empty()) all.push_back(one.quota);
  }
  std::string names;
  for (auto one = all.begin(); one != all.end(); ++one) {
    if (std::find(all.begin(), one, *one) == one) names += (names.empty() ? "" : ", ") + *one;
  }
  const std::string there = names.empty() ? "no upstream has a name" : "there are " + names;
  return "no upstream '" + upstream + "': " + there + ", and host:port of those that no entry names\n";
}

void AdminServer::Impl::when_prepared(std::function<void()> then) {
  if (!prepare) return then();
  prepare([guard = authenticator, then = std::move(then)] {
    if (!guard->closed) then();
  });
}

void AdminServer::Impl::answer_with_metrics(std::uint64_t connection) {
  when_prepared([this, connection] {
    metrics.set(snapshot(kWithoutGroups), events_dropped(), loop.now());
    write_elsewhere(connection, "text/plain; version=0.0.4; charset=utf-8", [this] { return metrics.text(); });
  });
}

void AdminServer::Impl::answer_with_status(std::uint64_t connection, const http::RequestHead& head) {
  when_prepared([this, connection, details = details_for(connection, head)] {
    write_elsewhere(connection, "application/json",
                    [config = config, now = snapshot({}), details] { return status_json(now, *config, details); });
  });
}

/// For those that have no browser.
void AdminServer::Impl::answer_with_text(std::uint64_t connection) {
  when_prepared([this, connection] {
    write_elsewhere(connection, "text/plain; charset=utf-8", [config = config, now = viewers.snapshot()]() mutable {
      return "Penstock " PENSTOCK_VERSION ", proxy at " + to_string(config->proxy.listen) + ". There is " +
             std::string{kPages} + std::string{kLivePages} + " here; / is a page in a browser.\n\n" +
             plain_rows(std::move(now));
    });
  });
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

void AdminServer::look_by(Viewers::Sources sources) {
  impl_->prepare = sources.prepare;
  viewers_.look_by(std::move(sources));
}

void AdminServer::on_ahead(Foretell foretell) { impl_->foretell = std::move(foretell); }

void AdminServer::on_resume(EndPauses end_pauses) { impl_->end_pauses = std::move(end_pauses); }

/// Those that look come again, if they may.
void AdminServer::change(const Config& config) {
  const bool same =
      impl_->config->admin.details == config.admin.details && impl_->config->admin.page == config.admin.page;
  if (!same) viewers_.end_all();
  auto shown = std::make_shared<Config>(config);
  shown->admin.listen = bound();
  impl_->config = std::move(shown);
  viewers_.change({.config = impl_->config, .why_not = why_no_details(config.admin.details)});
}

AdminServer::AdminServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)), viewers_(impl_->viewers) {}

AdminServer::~AdminServer() = default;

Endpoint AdminServer::bound() const { return impl_->listener->bound(); }

}  // namespace penstock::observe
