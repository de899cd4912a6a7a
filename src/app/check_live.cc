// SPDX-License-Identifier: Apache-2.0
// See check_live.h. One object connects as any process does, and so learns what the user may do; to each Redis that it
// has reached, a connection beside it asks for what only an operator wants to know.
#include "app/check_live.h"

#include <algorithm>
#include <list>
#include <memory>
#include <string_view>
#include <utility>

#include "app/live_questions.h"
#include "app/redis_network.h"
#include "loop/loop.h"
#include "loop/resolver.h"
#include "loop/timer.h"
#include "redis/client/make_servers.h"
#include "redis/client/master_watches.h"
#include "redis/limits/shared_redis.h"
#include "redis/wire/slot_map.h"

namespace penstock::app {

namespace {

constexpr std::int64_t kLiveWithin = 5'000'000;       // µs
constexpr std::int64_t kSentinelsWithin = 1'000'000;  // µs, for each of them to answer
constexpr std::int64_t kBetweenLooks = 5'000;         // µs
constexpr Duration kAnswersWithin = 2s;               // for each answer
constexpr int kTags = 1000;                           // so many lie on all masters of a cluster, almost surely

/// Redis may be slower than requests would wait for it: the check has the time to say so.
RedisConfig with_longer_timeout(RedisConfig config) {
  config.timeout = std::max(config.timeout, kAnswersWithin);
  return config;
}

class LiveCheck final : redis::RedisEvents {
 public:
  LiveCheck(const RedisConfig& config, const DnsConfig& dns, redis::Network& network)
      : config_(with_longer_timeout(config)),
        timeout_(config.timeout),
        resolver_(loop_, dns),
        network_(network),
        began_(loop_.now()),
        look_(loop_, [this] { look(); }),
        redis_(redis::make_servers(loop_, resolver_, network, config_, redis::scripts(), "check", *this,
                                   [this](const Notice& notice) { note(notice); })) {
    look_.start(loop_.now());
  }

  LiveFindings run() {
    loop_.run();
    report();
    return std::move(found_);
  }

 private:
  /// One that has been reached.
  struct Reached {
    Reached(const redis::Redis& server, loop::Loop& loop, loop::Resolver& resolver, redis::Network& network)
        : name(redis::place_of(server.config())), questions(loop, resolver, network, server.config()) {}
    const std::string name;
    LiveQuestions questions;
    std::vector<std::string> lacks{};  // as Servers::lacks()
  };

  void on_found(const std::vector<Endpoint>&) override {}
  void on_up() override { look(); }  // before it says of a right that it lacks
  void on_down() override {}
  void on_message(std::string_view) override {}
  void on_subscribed(bool) override {}
  void on_messages(bool) override {}
  void on_round_trip(std::int64_t) override {}
  void on_failure(redis::FailureKind) override {}

  /// It says why something is down, or what its user lacks.
  void note(const Notice& notice) {
    if (notice.level < LogLevel::warn) return;
    const bool is_of_reached =
        std::ranges::any_of(reached_, [&](const Reached& one) { return is_of(notice.text, one.name); });
    if (!is_of_reached) found_.errors.push_back(notice.text);
  }
  static bool is_of(std::string_view text, const std::string& name) {
    const std::string begin = "Redis at " + name;
    return text.starts_with(begin + " ") || text.starts_with(begin + ":");
  }
  bool has_failed(const std::string& name) const {
    return std::ranges::any_of(found_.errors, [&](const std::string& text) { return is_of(text, name); });
  }

  /// A node of a cluster is connected to when a key of its is asked for.
  void look() {
    bool all_done = true, any = false;
    std::vector<const redis::Redis*> seen;
    for (int i = 0; i < (config_.cluster.empty() ? 1 : kTags); ++i) {
      const auto* const redis = redis_->server_for(redis::slot_of(config_.prefix + ":{" + std::to_string(i) + "}:"));
      if (!redis || std::ranges::find(seen, redis) != seen.end()) continue;
      seen.push_back(redis);
      any = true;
      all_done = look_at(*redis) && all_done;
    }
    const auto took = loop_.now() - began_;
    if (any ? all_done && (sentinels_answer() || took > kSentinelsWithin) : !found_.errors.empty()) return loop_.stop();
    if (took < kLiveWithin) return look_.start(loop_.now() + kBetweenLooks);
    found_.errors.push_back("no answer within " + std::to_string(kLiveWithin / 1'000'000) + " s");
    loop_.stop();
  }

  /// Whether all is known of it.
  bool look_at(const redis::Redis& redis) {
    const auto name = redis::place_of(redis.config());
    auto known = std::ranges::find(reached_, name, &Reached::name);
    if (known == reached_.end() && !redis.up()) return has_failed(name);
    if (known == reached_.end()) known = reached_.emplace(known, redis, loop_, resolver_, network_);
    known->lacks = redis.lacks();
    return known->questions.done();
  }

  std::vector<RedisNodeSnapshot> sentinels() const {
    std::vector<RedisNodeSnapshot> all;
    if (!config_.sentinel) return all;
    for (auto& one : redis_->nodes()) {
      const auto is_it = [&](const auto& host) { return to_string(Endpoint{host.host, host.port}) == one.name; };
      if (std::ranges::any_of(config_.sentinel->hosts, is_it)) all.push_back(std::move(one));
    }
    return all;
  }
  bool sentinels_answer() const { return std::ranges::all_of(sentinels(), &RedisNodeSnapshot::up); }

  void report() {
    if (!config_.cluster.empty()) report_nodes();
    for (const auto& one : reached_) report_on(one);
    for (const auto& one : sentinels()) {
      if (one.up) found_.facts.push_back("the sentinel at " + one.name + " answers");
      if (!one.up)
        found_.warnings.push_back("the sentinel at " + one.name + " does not answer; what it refuses is not known");
    }
  }

  void report_nodes() {
    const auto nodes = redis_->nodes();
    if (nodes.empty()) return;
    const auto up = std::ranges::count_if(nodes, &RedisNodeSnapshot::up);
    found_.facts.push_back(to_string(config_) + ": " + std::to_string(up) + " of " + std::to_string(nodes.size()) +
                           (nodes.size() == 1 ? " node with slots answers" : " nodes with slots answer"));
  }

  void report_on(const Reached& one) {
    const auto& questions = one.questions;
    if (!questions.done()) return;  // the error that there is no answer is said
    const bool is_node = !config_.cluster.empty();
    if (!questions.error().empty()) {
      found_.errors.push_back("Redis at " + one.name + ": " + questions.error());
      return;
    }
    const std::string of = is_node ? one.name + ": " : "";
    found_.facts.push_back(questions.what_it_is(
        is_node ? one.name
                : to_string(config_) + (config_.sentinel ? ", the master at " + questions.place() : std::string())));
    found_.facts.push_back(of + questions.times());
    report_rights(one.lacks, of);
    for (const auto& warning : questions.warnings(timeout_)) found_.warnings.push_back(of + warning);
  }

  void report_rights(const std::vector<std::string>& lacks, const std::string& of) {
    std::string lacking, at_sentinels;
    for (const auto& rule : lacks) {
      const bool of_sentinels = rule.starts_with(redis::kOfSentinels);
      (of_sentinels ? at_sentinels : lacking) += " " + rule.substr(of_sentinels ? redis::kOfSentinels.size() : 0);
    }
    if (lacks.empty() && sentinels_answer()) found_.facts.push_back(of + "its user may do all that Penstock needs");
    if (!lacking.empty()) found_.warnings.push_back(of + "its user lacks:" + lacking);
    if (!at_sentinels.empty()) found_.warnings.push_back(of + "its user lacks at its sentinels:" + at_sentinels);
  }

  const RedisConfig config_;
  const Duration timeout_;  // that of the file
  loop::Loop loop_;
  loop::Resolver resolver_;
  redis::Network& network_;
  const std::int64_t began_;
  loop::Timer look_;
  std::unique_ptr<redis::Servers> redis_;
  std::list<Reached> reached_;
  LiveFindings found_;
};

}  // namespace

LiveFindings check_live(const RedisConfig& redis, const std::string& path, const DnsConfig& dns) {
  const auto network = network_to(redis, path);
  if (!network) return {.facts = {}, .warnings = {}, .errors = {network.error().message}};
  return LiveCheck(redis, dns, *network ? **network : redis::sockets()).run();
}

}  // namespace penstock::app
