// SPDX-License-Identifier: Apache-2.0
// See state_words.h. What stops the whole upstream is said first; else what its head waits for.
#include "observe/state_words.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::observe {

using namespace std::chrono_literals;

namespace {
double in(Duration unit, Duration duration) {
  return static_cast<double>(duration.count()) / static_cast<double>(unit.count());
}

std::string last_in_line(const HeadSnapshot& head) {
  return head.last_leaves_in ? "; last in line leaves in " + rounded(*head.last_leaves_in) : "";
}

/// The last in line adds nothing where it leaves as soon as the limit opens.
std::string opens(const LimitSnapshot& limit, const HeadSnapshot& head) {
  if (!limit.opens_in || *limit.opens_in <= Duration{0}) return last_in_line(head);
  const bool later = head.last_leaves_in && *head.last_leaves_in > *limit.opens_in + *limit.opens_in / 10;
  return ", opens in " + rounded(*limit.opens_in) + (later ? last_in_line(head) : "");
}

std::string rate_of(const LimitSnapshot& limit) {
  if (!limit.allows.empty()) return limit.allows;
  char text[32];
  std::snprintf(text, sizeof text, "%.3g/s", limit.rate.value_or(0));
  return limit.rate ? text : "";
}

/// A name of its own stands beside what the limit does, by which it is found in the configuration.
std::string by_limit(const LimitSnapshot& limit, const HeadSnapshot& head) {
  const bool paces = limit.kind == "pacer" || limit.kind == "adaptive";
  if (paces) {
    const bool has_name = limit.name != limit.kind && limit.name != "rate";
    const std::string rate = rate_of(limit);
    return "held to " + (rate.empty() ? "a rate" : rate) + (has_name ? " by " + limit.name : "") + last_in_line(head);
  }
  if (limit.kind == "semaphore") {
    const std::string all = limit.allows.empty() ? "all" : "all " + limit.allows;
    return all + " permits of " + limit.name + " taken" + last_in_line(head);
  }
  return limit.name + (limit.allows.empty() ? "" : " " + limit.allows) + " spent" + opens(limit, head);
}

/// A `rate` is a pacer with a window beside it, `rate.window`: both hold to the same.
const LimitSnapshot* limit_of(const UpstreamSnapshot& upstream, std::string_view name) {
  constexpr std::string_view kBeside = ".window";
  const auto named = [&](std::string_view wanted) -> const LimitSnapshot* {
    const auto found = std::ranges::find(upstream.limits, wanted, &LimitSnapshot::name);
    return found == upstream.limits.end() ? nullptr : &*found;
  };
  const LimitSnapshot* pacer = name.ends_with(kBeside) ? named(name.substr(0, name.size() - kBeside.size())) : nullptr;
  return pacer && pacer->kind == "pacer" ? pacer : named(name);
}

std::string by_head(const UpstreamSnapshot& upstream, const HeadSnapshot& head) {
  const std::string& by = head.limited_by;
  if (by == "redis") return "waits for Redis, which does not answer";
  if (by == "maxConcurrent") {
    const std::string slots = upstream.max_concurrent == 1
                                  ? "the only slot is busy"
                                  : "all " + std::to_string(upstream.max_concurrent) + " slots busy";
    return slots + last_in_line(head);
  }
  if (by == "maxTunnels") return "all " + std::to_string(upstream.max_tunnels) + " tunnels open" + last_in_line(head);
  if (by == "pause") return "after a pause: more requests with each round of answers" + last_in_line(head);
  if (const LimitSnapshot* limit = limit_of(upstream, by)) return by_limit(*limit, head);
  for (const GroupSnapshot& group : upstream.groups) {
    const auto own = std::ranges::find(group.limits, by, &LimitSnapshot::name);
    if (own == group.limits.end()) continue;
    LimitSnapshot of_no_group = *own;
    of_no_group.opens_in.reset();
    return "in a group: " + by_limit(of_no_group, head);
  }
  return by.empty() ? "" : "held by " + by + last_in_line(head);
}

/// The limit that stops newcomers for longest, and long enough to be told of; null: none does. What is beside a pacer
/// opens with it, and a semaphore as soon as a permit is given back.
const LimitSnapshot* spent_limit(const UpstreamSnapshot& upstream) {
  constexpr Duration kWorthAWord = 1s;
  constexpr std::array<std::string_view, 4> kQuotas{"window", "counter", "slidingWindow", "tokenBucket"};
  const LimitSnapshot* longest = nullptr;
  for (const LimitSnapshot& one : upstream.limits) {
    const bool stops = one.known && one.mode != LimitConfig::Mode::shadow && one.opens_in >= kWorthAWord;
    if (!stops || std::ranges::find(kQuotas, one.kind) == kQuotas.end() || limit_of(upstream, one.name) != &one)
      continue;
    if (!longest || *one.opens_in > *longest->opens_in) longest = &one;
  }
  return longest;
}

std::string pause_in_words(const PauseSnapshot& pause) {
  const std::string partly = pause.of_all ? "" : "partly ";
  if (pause.probing || pause.left <= Duration{0}) return partly + "probing after a pause: one request at a time";
  const std::string by = pause.status == 0 ? "" : " (" + std::to_string(pause.status) + ")";
  return partly + "PAUSED by the API" + by + " for " + rounded(pause.left) + "; then one probe";
}

std::string what_happens(const UpstreamSnapshot& upstream) {
  if (upstream.unreachable) {
    return upstream.next_try > Duration{0} ? "UNREACHABLE; next try in " + rounded(upstream.next_try)
                                           : "UNREACHABLE; one request at a time tries";
  }
  const auto& pause = upstream.pause;
  const auto& head = upstream.head;
  if (pause && (pause->of_all || !head || head->limited_by == "pause")) return pause_in_words(*pause);
  if (head) return by_head(upstream, *head);
  if (const LimitSnapshot* limit = spent_limit(upstream)) return by_limit(*limit, {});
  return upstream.tunnels_only ? "tunnels only: requests are not seen" : "";
}

/// Of many the first few are named.
std::string list_of(const std::vector<std::string>& names, std::size_t most) {
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), most); ++i) text += (i == 0 ? "" : ", ") + names[i];
  return text + (names.size() > most ? " and " + std::to_string(names.size() - most) + " more" : "");
}

/// Of a Cluster, some nodes may answer while others do not.
std::string nodes_in_words(const RedisSnapshot& redis) {
  constexpr std::size_t kNamed = 3;
  std::vector<std::string> down;
  for (const auto& node : redis.nodes)
    if (!node.up) down.push_back(node.name);
  if (down.empty() || redis.kind == "single") return redis.up ? "up" : "DOWN";
  const auto named = list_of(down, kNamed);
  if (redis.up) return "up, out of reach: " + named + ";";
  if (redis.kind != "cluster") return "DOWN, out of reach: " + named + ";";
  const auto all = redis.nodes.size();
  return std::to_string(all - down.size()) + " of " + std::to_string(all) + (all == 1 ? " node" : " nodes") +
         ", DOWN: " + named + ";";
}
}  // namespace

std::string rounded(Duration duration) {
  struct Unit {
    Duration below, size;
    const char* format;
  };
  constexpr std::array<Unit, 5> kUnits{{{100ms, 1ms, "%.0f ms"},
                                        {1min, 1s, "%.1f s"},
                                        {2min, 1s, "%.0f s"},
                                        {2h, 1min, "%.0f min"},
                                        {48h, 1h, "%.0f h"}}};
  const auto unit = std::ranges::find_if(kUnits, [=](const Unit& one) { return duration < one.below; });
  char text[32];
  std::snprintf(text, sizeof text, unit == kUnits.end() ? "%.0f d" : unit->format,
                in(unit == kUnits.end() ? Duration{24h} : unit->size, duration));
  return text;
}

std::string state_in_words(const UpstreamSnapshot& upstream) {
  const std::size_t pending = std::max(upstream.pending, upstream.pending_in_quota);
  const bool full = upstream.max_pending > 0 && pending >= upstream.max_pending;
  std::string what = what_happens(upstream);
  const bool waits_for_it = upstream.head && upstream.head->limited_by == "redis";
  if (upstream.degraded && !waits_for_it) what += std::string(what.empty() ? "" : "; ") + "without Redis, by whenDown";
  if (!full) return what;
  return what.empty() ? "FULL: " + std::to_string(pending) + " wait" : "FULL: " + what;
}

std::string redis_in_words(const RedisSnapshot& redis) {
  std::vector<std::string> more;
  if (redis.processes > 0)
    more.push_back(std::to_string(redis.processes) + (redis.processes == 1 ? " process" : " processes"));
  if (redis.mode == "share" && redis.share_of > 0) more.push_back("our share 1/" + std::to_string(redis.share_of));
  if (redis.mode != "share" && redis.mode != "shared" && !redis.mode.empty()) more.push_back("whenDown: " + redis.mode);
  if (!redis.limits_differ.empty()) more.push_back("limits differ: " + list_of(redis.limits_differ, 1));
  std::string text = redis.kind == "cluster" ? "Cluster " : redis.kind == "sentinel" ? "by Sentinel " : "";
  text += (redis.tls ? "over TLS " : "") + nodes_in_words(redis);
  const bool ends_list = text.back() == ';';
  if (more.empty() && ends_list) text.pop_back();
  for (const auto& one : more) text += (&one == &more.front() && ends_list ? " " : ", ") + one;
  return text;
}

std::string redis_in_words(const std::vector<RedisSnapshot>& redis) {
  if (redis.size() == 1) return redis_in_words(redis.front());
  std::string text;
  for (const auto& one : redis) text += (text.empty() ? "" : "; ") + one.name + " " + redis_in_words(one);
  return text;
}

std::string again_in_words(std::uint64_t repeats) {
  if (repeats == 0) return "";
  return repeats == 1 ? "asked again once" : "asked again " + std::to_string(repeats) + " times";
}

}  // namespace penstock::observe
