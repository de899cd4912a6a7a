// SPDX-License-Identifier: Apache-2.0
// Each rule that a preset quotes, for an hour, against ten clients that ask as fast as they are served: of an account,
// of an endpoint, in requests, in points or in tokens. One process keeps the limits by itself; presets_test.cc has
// several, and Redis.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <queue>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "flow/local_limiter.h"
#include "flow/scheduler.h"
#include "penstock/config.h"
#include "proxy/route/routes.h"
#include "simulation/arrivals.h"
#include "simulation/vendor_rules.h"

namespace penstock::simulation {
namespace {

constexpr std::size_t kClients = 10;
constexpr Time kFlight = 20 * kMillisecond;

/// What one client asks for, again and again.
struct Wish {
  std::string method = "GET", path = "/";
  std::string group = {};
};

/// What a request is estimated to cost, and what it does.
struct Cost {
  int estimated = 1, actual = 1;
};
using DrawCost = std::function<Cost()>;

struct Left {
  Time at;
  const Wish* wish;
  int cost;
};

/// One process before the upstream, for an hour.
class Hour {
 public:
  Hour(
      const UpstreamSettings& settings, const std::vector<Wish>& wishes, DrawCost draw_cost = [] { return Cost(); })
      : wishes_(wishes),
        draw_cost_(std::move(draw_cost)),
        routes_(settings),
        limiter_(settings.limits),
        scheduler_({.max_concurrent = settings.max_concurrent, .max_pending = 1'000, .max_wait = kDay}, limiter_) {}

  std::vector<Left> play() {
    for (std::size_t client = 0; client < wishes_.size(); ++client) ask(client);
    for (;;) {
      const auto wakes = scheduler_.wake_at();
      const Time lands = landings_.empty() ? kHour : landings_.top().first;
      now_ = std::max(now_, std::min(lands, wakes.value_or(kHour)));
      if (now_ >= kHour) return std::move(left_);
      if (wakes && *wakes <= now_) {
        scheduler_.advance(now_, commands_);
        carry_out();
      } else {
        const std::size_t client = landings_.top().second;
        landings_.pop();
        land(client);
        ask(client);
      }
    }
  }

 private:
  void ask(std::size_t client) {
    const Wish& wish = wishes_[client];
    const proxy::RouteTerms route = routes_.terms_of(wish.method, wish.path, {});
    Flight& flight = flights_[client];
    flight.lane = flow::LaneName(flow::LaneKey(wish.group, route.limits));
    flight.cost = draw_cost_();
    flight.ticket = scheduler_.arrive(now_,
                                      {.id = client,
                                       .weight = route.weight,
                                       .group = wish.group,
                                       .route = route.limits,
                                       .cost = flight.cost.estimated},
                                      commands_);
    carry_out();
  }
  void land(std::size_t client) {
    const Flight& flight = flights_[client];
    if (limiter_.settle(now_, flight.lane, flight.departure, flight.cost.actual))
      flow::units_came(scheduler_, now_, flight.lane, commands_);
    scheduler_.land(now_, flight.ticket, commands_);
    carry_out();
  }
  void carry_out() {
    ASSERT_TRUE(commands_.refuse.empty());
    for (const auto& start : commands_.start) {
      flights_[start.id].departure = start.departure;
      left_.push_back({now_, &wishes_[start.id], flights_[start.id].cost.actual});
      landings_.push({now_ + kFlight, start.id});
    }
    commands_.clear();
  }

  struct Flight {
    flow::Ticket ticket;
    flow::LaneName lane;
    Cost cost;
    flow::Departure departure;
  };

  const std::vector<Wish>& wishes_;
  const DrawCost draw_cost_;
  const proxy::Routes routes_;
  flow::LocalLimiter limiter_;
  flow::Scheduler scheduler_;
  flow::Commands commands_;
  std::vector<Flight> flights_{wishes_.size()};
  std::priority_queue<std::pair<Time, std::size_t>, std::vector<std::pair<Time, std::size_t>>, std::greater<>>
      landings_;
  std::vector<Left> left_;
  Time now_ = 1;
};

UpstreamSettings preset(const Name& name) {
  const auto config =
      read_config("version: 1\nupstreams: { a: { preset: " + name.first + ", plan: " + name.second + " } }\n", "f");
  EXPECT_TRUE(config) << to_string(config.error()[0]);
  return config->upstreams.at(0).settings;
}

/// When the units that the rule counts left: `cost` of each request, 0 if the rule does not count it.
using UnitsOf = std::function<int(const Wish& wish)>;
std::vector<Time> departed_units(const std::vector<Left>& left, const UnitsOf& cost) {
  std::vector<Time> times;
  for (const Left& one : left) times.insert(times.end(), static_cast<std::size_t>(cost(*one.wish)), one.at);
  return times;
}

/// No request may be too many, though each takes up to 20 ms to arrive; the units of one arrive together.
void expect_kept(const Rule& rule, const std::vector<Left>& left, const UnitsOf& cost) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    std::vector<Time> departures;
    std::vector<int> costs;
    for (const Left& one : left) {
      if (cost(*one.wish) > 0) departures.push_back(one.at), costs.push_back(cost(*one.wish));
    }
    std::mt19937_64 random(seed);
    std::uniform_int_distribution<Time> delay(0, 20 * kMillisecond);
    std::vector<Time> came;
    for (std::size_t i = 0; i < departures.size(); ++i)
      came.insert(came.end(), static_cast<std::size_t>(costs[i]), departures[i] + delay(random));
    std::ranges::sort(came);
    EXPECT_LE(most_of(rule, came), rule.most) << "in " << rule.unit << " us";
  }
}

/// Of what the rule lets pass from `from` to `until`.
double used(const Rule& rule, const std::vector<Time>& times, Time from, Time until) {
  const auto count = std::ranges::upper_bound(times, until) - std::ranges::lower_bound(times, from);
  return static_cast<double>(count) * static_cast<double>(rule.unit) / static_cast<double>(until - from) / rule.most;
}

bool any_request(const Wish&) { return true; }

TEST(VendorsRules, are_kept_for_an_hour_and_used) {
  for (const auto& [name, rules] : kPublished) {
    SCOPED_TRACE(name.first + ", " + name.second);
    std::vector<Wish> wishes(kClients);
    const UpstreamSettings settings = preset(name);
    for (std::size_t i = 0; settings.group && i < kClients; ++i) wishes[i].group = std::to_string(i % 2);
    const auto left = Hour(settings, wishes).play();
    for (const Rule& rule : rules) {
      if (!rule.each_group) expect_kept(rule, left, any_request);
      for (const std::string group : {"0", "1"}) {
        if (rule.each_group) expect_kept(rule, left, [&](const Wish& wish) { return wish.group == group; });
      }
    }
    // The rule that binds two groups, or all: what it lets pass in the hour. A burst may pass at first.
    const Rule& binds = rules.size() > 1 && rules.back().unit == kHour ? rules.back() : rules.front();
    const auto counted =
        departed_units(left, [&](const Wish& wish) { return !binds.each_group || wish.group == "0" ? 1 : 0; });
    EXPECT_GE(used(binds, counted, 0, kHour), 0.97);
  }
}

// ---- in tokens ------------------------------------------------------------------------------------------------------

/// As a tier has it: the presets have the rest. A request leaves while any token is free, and may be too large by
/// itself.
TEST(VendorsRules, of_a_language_model_are_kept_in_tokens) {
  constexpr int kDearest = 4'000;
  const Rule tokens{10'000, kMinute}, requests{500, kMinute};
  for (const auto* name : {"openai", "anthropic", "gemini", "mistral"}) {
    SCOPED_TRACE(name);
    const auto config = read_config(std::string("version: 1\nupstreams:\n  a: { preset: ") + name +
                                        ", limits: [ { pacer: { qps: 8.3 } }, { slidingWindow: { max: 10000, "
                                        "interval: 61s, unit: tokens } } ] }\n",
                                    "f");
    ASSERT_TRUE(config) << to_string(config.error()[0]);
    std::mt19937_64 random(1);
    std::uniform_int_distribution<int> draw(50, kDearest);
    const std::vector<Wish> wishes(kClients);
    const auto left = Hour(config->upstreams.at(0).settings, wishes, [&] {
                        const int actual = draw(random);
                        return Cost{.estimated = std::min(2 * actual, kDearest), .actual = actual};
                      }).play();
    expect_kept(requests, left, any_request);
    std::vector<Time> spent;
    std::uniform_int_distribution<Time> delay(0, kFlight);
    for (const Left& one : left) spent.insert(spent.end(), static_cast<std::size_t>(one.cost), one.at + delay(random));
    std::ranges::sort(spent);
    EXPECT_LE(most_of(tokens, spent), tokens.most + kDearest);
    EXPECT_GE(used(tokens, spent, 0, kHour), 0.97);
  }
}

// ---- an account and its endpoints, in points ------------------------------------------------------------------------

/// "Calculating points for the secondary rate limit": most requests that write cost five.
int points_of(const Wish& wish) { return wish.method == "GET" ? 1 : 5; }
int request(const Wish&) { return 1; }
int search(const Wish& wish) { return wish.path.starts_with("/search/") && wish.path != "/search/code" ? 1 : 0; }
int search_in_code(const Wish& wish) { return wish.path == "/search/code" ? 1 : 0; }

const Rule kPoints{900, kMinute}, kAccount{5000, kHour, false, Counted::from_the_first}, kSearch{30, kMinute},
    kSearchInCode{10, kMinute};

std::vector<Left> github(const std::vector<Wish>& wishes) { return Hour(preset({"github", "token"}), wishes).play(); }

void expect_github_keeps(const std::vector<Left>& left) {
  expect_kept(kPoints, left, points_of);
  expect_kept(kAccount, left, request);
  expect_kept(kSearch, left, search);
  expect_kept(kSearchInCode, left, search_in_code);
}

std::vector<Wish> wishes(std::size_t reads, std::size_t writes, std::size_t searches, std::size_t in_code) {
  std::vector<Wish> all;
  all.insert(all.end(), reads, {"GET", "/repos/a/b"});
  all.insert(all.end(), writes, {"POST", "/repos/a/b/issues"});
  all.insert(all.end(), searches, {"GET", "/search/issues"});
  all.insert(all.end(), in_code, {"GET", "/search/code"});
  return all;
}

TEST(VendorsRules, of_github_are_kept_together) {
  const auto all = wishes(4, 2, 2, 2);
  const auto left = github(all);
  expect_github_keeps(left);
  // Until the account has had its hour's: five minutes of points.
  EXPECT_GE(used(kPoints, departed_units(left, points_of), 0, 5 * kMinute), 0.97);
}

TEST(VendorsRules, of_github_each_endpoint_has_all_of_its_own) {
  const auto searching = wishes(0, 0, 10, 0), in_code = wishes(0, 0, 0, 10), reading = wishes(10, 0, 0, 0);
  const auto searches = github(searching), code = github(in_code), reads = github(reading);
  expect_github_keeps(searches);
  expect_github_keeps(code);
  expect_github_keeps(reads);
  EXPECT_GE(used(kSearch, departed_units(searches, search), 0, kHour), 0.97);
  EXPECT_GE(used(kSearchInCode, departed_units(code, search_in_code), 0, kHour), 0.97);
  EXPECT_GE(used(kAccount, departed_units(reads, request), 0, kHour), 0.97);
}

TEST(VendorsRules, of_github_a_search_that_waits_holds_no_other_request_up) {
  const auto all = wishes(5, 0, 5, 0);
  const auto left = github(all);
  expect_github_keeps(left);
  EXPECT_GE(used(kPoints, departed_units(left, points_of), 0, 5 * kMinute), 0.97);
  EXPECT_GE(used(kSearch, departed_units(left, search), 0, 5 * kMinute), 0.97);
}

/// So it was once written: an entry for search beside that of the account, which knew nothing of it.
TEST(VendorsRules, of_github_are_seen_to_be_broken_by_an_endpoint_that_is_limited_apart) {
  const auto reading = wishes(10, 0, 0, 0), searching = wishes(0, 0, 10, 0);
  auto left = github(reading);
  UpstreamSettings apart;
  apart.limits = {{.kind = SlidingWindowConfig{30, std::chrono::minutes(1)}, .name = "search"}};
  const auto searches = Hour(apart, searching).play();
  left.insert(left.end(), searches.begin(), searches.end());
  std::ranges::sort(left, {}, &Left::at);
  EXPECT_GT(most_of(kPoints, departed_units(left, points_of)), kPoints.most);
}

TEST(VendorsRules, of_github_hold_without_a_token_too) {
  const std::vector<Wish> all = wishes(5, 0, 5, 0);
  const auto left = Hour(preset({"github", "anonymous"}), all).play();
  expect_kept({60, kHour, false, Counted::from_the_first}, left, request);
  expect_kept({10, kMinute}, left, search);
}

/// What config/vendors.yaml ships is what the presets say, for the first plan of each.
TEST(VendorsRules, are_those_of_the_file_that_is_shipped) {
  const auto shipped = load_config(PENSTOCK_CONFIG_DIR "/vendors.yaml");
  ASSERT_TRUE(shipped) << to_string(shipped.error()[0]);
  std::size_t with_limits = 0;
  for (const auto& upstream : shipped->upstreams) {
    if (upstream.settings.limits.empty()) continue;
    ++with_limits;
    const auto same = [&](const auto& published) {
      if (published.first.first != upstream.name) return false;
      const UpstreamSettings settings = preset(published.first);
      return settings.limits == upstream.settings.limits && settings.routes == upstream.settings.routes;
    };
    EXPECT_TRUE(std::ranges::any_of(kPublished, same)) << upstream.name;
  }
  EXPECT_GE(with_limits, 12u);
}

}  // namespace
}  // namespace penstock::simulation
