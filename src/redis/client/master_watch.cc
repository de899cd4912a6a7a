// SPDX-License-Identifier: Apache-2.0
// See master_watch.h. What may be asked is asked before SUBSCRIBE: afterwards a sentinel takes PING alone.
#include "redis/client/master_watch.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <vector>

#include "redis/wire/command.h"

namespace penstock::redis {

namespace {

constexpr std::int64_t kBetweenPings = 1'000'000;
constexpr int kPingsBetweenLooks = 10;  // whether what was refused is granted
constexpr std::size_t kMostNodes = 64;  // that one answer may name
/// The texts of MasterWatch::Request, in its order.
struct SentinelRequest {
  std::string_view command, argument;  // the argument of SUBSCRIBE is a channel
};
constexpr std::array<SentinelRequest, 8> kSentinelRequests{{{"SENTINEL", "GET-MASTER-ADDR-BY-NAME"},
                                                            {"SENTINEL", "MASTER"},
                                                            {"SENTINEL", "REPLICAS"},
                                                            {"SENTINEL", "SENTINELS"},
                                                            {"PING", {}},
                                                            {"SUBSCRIBE", "+switch-master"},
                                                            {"SUBSCRIBE", "+slave"},
                                                            {"SUBSCRIBE", "+sentinel"}}};

/// Those of a message; further ones are left out.
std::array<std::string_view, 6> words_of(std::string_view text) {
  std::array<std::string_view, 6> words;
  for (auto& word : words) {
    word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
  }
  return words;
}

Endpoint endpoint(std::string_view host, std::string_view port) {
  Endpoint there{std::string(host), 0};
  std::from_chars(port.data(), port.data() + port.size(), there.port);
  return there;
}

/// Of names and values that take turns.
struct Node {
  Endpoint there;
  std::int64_t epoch = 0;
};
Node node_in(const Reply& reply) {
  std::string_view host, port, epoch;
  for (auto fields = reply.elements(); fields.left() > 0;) {
    const auto name = fields.next().text(), value = fields.next().text();
    if (name == "ip") host = value;
    if (name == "port") port = value;
    if (name == "config-epoch") epoch = value;
  }
  Node node{.there = endpoint(host, port)};
  std::from_chars(epoch.data(), epoch.data() + epoch.size(), node.epoch);
  return node;
}

}  // namespace

MasterWatch::MasterWatch(loop::Loop& loop, loop::Resolver& resolver, Network& network, const RedisConfig& config,
                         std::size_t sentinel, MasterWatchEvents& events)
    : loop_(loop),
      config_(config),
      events_(events),
      sentinel_(
          loop, resolver, network, config, Connection::For::messages,
          [this](const std::vector<Endpoint>& there) { events_.on_found(there); }, *this),
      backoff_(loop, network.draw(), [this] { sentinel_.dial(sentinel_.number()); }),
      pinging_(loop, [this] {
        if (!refused_.none() && ++pings_ > kPingsBetweenLooks) return sentinel_.dial(sentinel_.number());
        sentinel_.send(command({"PING"}));
        pinging_.start(loop_.now() + kBetweenPings);
      }) {
  sentinel_.dial(sentinel);
}

std::string MasterWatch::place() const {
  const auto& [host, port] = config_.sentinel->hosts[sentinel_.number()];
  return to_string(Endpoint{host, port});
}

/// One SUBSCRIBE for each channel: each is answered on its own.
void MasterWatch::on_sentinel() {
  awaited_ = Request::master_address;
  master_ = {};
  refused_here_ = {};
  login_failure_ = {};
  subscribe_failed_ = false;
  pings_ = 0;
  if (const auto& no_info = sentinel_.no_info(); !no_info.empty()) refused_here_.note("info", no_info);
  for (const auto& [name, argument] : kSentinelRequests) {
    if (argument.empty()) {
      sentinel_.send(command({name}));
    } else if (name == "SUBSCRIBE") {
      sentinel_.send(command({name, argument}));
    } else {
      sentinel_.send(command({name, argument, config_.sentinel->master}));
    }
  }
}

void MasterWatch::on_sentinel_reply(const Outcome& outcome) {
  const Request request = awaited_;
  if (request != Request::keepalive) awaited_ = static_cast<Request>(static_cast<std::uint8_t>(request) + 1);
  outcome ? succeeded(request, *outcome) : failed(request, outcome.error().text);
  if (awaited_ != Request::keepalive) return;
  report_refusals();
  if (request != Request::keepalive) all_answered();
}

/// While it replaces a master, a sentinel tells the new epoch and the old address in its reply to MASTER.
void MasterWatch::succeeded(Request request, const Reply& reply) {
  if (request == Request::master_address) {
    auto words = reply.elements();
    const auto host = words.next().text();
    master_ = endpoint(host, words.next().text());
  } else if (request == Request::master) {
    report_master(master_, node_in(reply).epoch);
  } else if (request == Request::replicas || request == Request::sentinels) {
    report_nodes(reply);
  }
}

void MasterWatch::failed(Request request, std::string_view error_reply) {
  if (request == Request::keepalive) {
    refused_here_.note("ping", error_reply);
    return;
  }
  const auto& [name, argument] = kSentinelRequests[static_cast<std::size_t>(request)];
  if (name == "SUBSCRIBE") {
    subscribe_failed_ = true;
    refused_here_.note_subscribe(argument, error_reply);
  } else {
    refused_here_.note(argument.empty() ? std::string(name) : std::string(name) + " " + std::string(argument),
                       error_reply);
  }
}

/// Refused questions are done without. A sentinel that refuses SUBSCRIBE is dialled again and again. One that refuses
/// PING shows by its refusal that it is alive.
void MasterWatch::all_answered() {
  if (subscribe_failed_) {
    sentinel_.close();
    return dial_later();
  }
  backoff_.succeeded();
  pinging_.start(loop_.now() + kBetweenPings);
}

void MasterWatch::report_refusals() {
  if (refused_here_ == refused_) return;
  refused_ = refused_here_;
  events_.on_sentinel_refusals();
}

void MasterWatch::report_nodes(const Reply& nodes) {
  std::vector<Endpoint> known;
  for (auto left = nodes.elements(); left.left() > 0 && known.size() < kMostNodes;)
    if (auto node = node_in(left.next()); !node.there.address.empty()) known.push_back(std::move(node.there));
  events_.on_found(known);
}

void MasterWatch::report_master(const Endpoint& there, std::optional<std::int64_t> epoch) {
  if (there.address.empty() || there.port == 0) return;
  events_.on_master({.host = there.address, .port = there.port, .path = {}, .tls = config_.tls.has_value()},
                    sentinel_.number(), epoch);
}

/// `mymaster 10.0.0.1 6379 10.0.0.2 6379`, the new one last; or `slave NAME 10.0.0.3 6379 @ mymaster 10.0.0.1 6379`,
/// and the same of a sentinel.
void MasterWatch::on_sentinel_message(std::string_view payload) {
  const auto words = words_of(payload);
  if (words[4] == "@") {
    if (words[5] == config_.sentinel->master) events_.on_found({endpoint(words[2], words[3])});
  } else if (words[0] == config_.sentinel->master) {
    report_master(endpoint(words[3], words[4]), std::nullopt);
  }
}

/// One that cannot be reached is shown as down. That it wants another password is reported.
void MasterWatch::on_sentinel_gone(const Failure& why) {
  const bool is_new = why.kind == FailureKind::noauth && why.text != login_failure_.last;
  dial_later();
  if (!is_new) return;
  login_failure_.last = why.text;
  login_failure_.unreported = sentinel_.name() + ": " + why.text;
  events_.on_sentinel_refusals();
}

void MasterWatch::dial_later() {
  awaited_ = Request::master_address;
  pinging_.stop();
  backoff_.later();
}

std::string costs_of_sentinels(const std::vector<std::string>& missing) {
  const auto lacks = [&](std::string_view rule) { return std::ranges::find(missing, rule) != missing.end(); };
  std::vector<std::string_view> costs;
  if (lacks("+sentinel|replicas") || lacks("&+slave"))
    costs.emplace_back("not all replicas are known, and so not closed to clients");
  if (lacks("+sentinel|sentinels") || lacks("&+sentinel"))
    costs.emplace_back("other sentinels are not known, and so not closed to clients");
  if (lacks("+subscribe") || lacks("&+switch-master") || lacks("+sentinel|master"))
    costs.emplace_back("a new master is noticed later");
  std::string text;
  for (const auto cost : costs) text.append(text.empty() ? ". Until then " : "; ").append(cost);
  return text;
}

}  // namespace penstock::redis
