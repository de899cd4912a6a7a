// SPDX-License-Identifier: Apache-2.0
// See unknowns.h.
#include "replay/unknowns.h"

#include <algorithm>
#include <cstdint>

namespace penstock::replay {

namespace {

struct Counts {
  std::uint64_t without_flight = 0, without_end = 0, without_take_off = 0;
  std::uint64_t again = 0, refused_by_api = 0;
  std::uint64_t tunnels = 0, left = 0, apart = 0;
};

Counts count_all(const RequestLog& log) {
  Counts counts;
  for (const auto& request : log.requests) {
    if (!may_change(request.fate)) {
      ++counts.apart;
      continue;
    }
    const bool sent = request.fate == Fate::sent;
    counts.without_flight += !sent && request.fate != Fate::gone ? 1 : 0;
    counts.without_end += sent && !request.ended ? 1 : 0;
    counts.without_take_off += sent && !request.dispatched && request.attempts > 1 ? 1 : 0;
    counts.again += request.attempts > 1 ? 1 : 0;
    counts.refused_by_api += sent && request.status == 429 ? 1 : 0;
    counts.tunnels += request.tunnel ? 1 : 0;
    counts.left += request.fate == Fate::gone ? 1 : 0;
  }
  return counts;
}

std::string counted(std::uint64_t number, const std::string& one, const std::string& more) {
  return std::to_string(number) + " " + (number == 1 ? one : more);
}

std::string requests(std::uint64_t number) { return counted(number, "request", "requests"); }

template <typename Is>
bool any_limit(const Side& side, Is is) {
  return std::ranges::any_of(
      side.upstreams, [&](const Upstream& upstream) { return std::ranges::any_of(upstream.settings->limits, is); });
}

bool any_learns(const Side& side) {
  return std::ranges::any_of(side.upstreams,
                             [](const Upstream& upstream) { return upstream.settings->learn == Learn::on; });
}

}  // namespace

std::vector<std::string> unknowns(const RequestLog& log, const Side& now, std::uint64_t left_out) {
  std::vector<std::string> all;
  const auto say = [&](bool holds, const std::string& sentence) {
    if (holds) all.push_back(sentence);
  };
  const Counts counts = count_all(log);
  say(true,
      "how clients would have reacted: each request arrives when it did, and no client that was refused comes again");
  say(true, "what was before the first line: limits begin as if nothing had left before, and queues empty");
  say(true, "the Penstock-Max-Wait of requests: all wait for queue.maxWait");
  say(counts.again + counts.refused_by_api > 0,
      "what the API would have refused at other times: " + requests(counts.refused_by_api) +
          " ended with its 429 and " + std::to_string(counts.again) +
          " were sent again; no pause is replayed, and each is sent as often as it was");
  say(left_out > 0, "when " + counted(left_out, "repeat", "repeats") +
                        " would have been sent: no more are played than the log has events");
  say(counts.without_flight > 0,
      "how long " + requests(counts.without_flight) +
          " would have been in flight which Penstock refused: the median of the upstream is taken");
  say(counts.left > 0, "how long " + requests(counts.left) +
                           " would have been in flight whose client left the queue: the median is taken; it leaves "
                           "after as long a wait");
  say(counts.without_end > 0,
      "how " + requests(counts.without_end) + " ended which took off: their flight is the median of the upstream");
  say(counts.without_take_off > 0, "when " + requests(counts.without_take_off) +
                                       " arrived which were sent several times, and whose take-off is not in the log");
  say(counts.tunnels > 0,
      "when " + counted(counts.tunnels, "tunnel", "tunnels") +
          " rested: each holds its slot from take-off to landing, so waits for slots may be shorter");
  say(counts.apart > 0, "what else would have become of " + requests(counts.apart) +
                            " which no setting of queue or limits has turned away: they are counted as they were");
  say(log.refused_without_kind > 0,
      "why " + requests(log.refused_without_kind) + " were refused: their lines have no `refusal`");
  say(!log.has_weights, "weights: no line has one, so each request costs 1 unit");
  say(!log.has_attempts, "attempts: no line has them, so each request is sent once");
  say(log.files > 1,
      "which process got which request: all are replayed as those of one, which has the limits, slots and queue for "
      "itself");
  say(any_limit(now, [](const auto& limit) { return std::holds_alternative<AdaptiveConfig>(limit.kind); }),
      "what `adaptive` limits would have learned: they keep the rate with which they begin");
  say(any_limit(now, [](const auto& limit) { return !limit.unit.empty(); }),
      "what requests cost: limits with a `unit` count each as 1");
  say(any_learns(now), "what `learn: on` would have learned of other users of the quota: nothing is");
  say(log.is_cut, "what follows: more events than " + std::to_string(log.events) + " are not read");
  return all;
}

}  // namespace penstock::replay
