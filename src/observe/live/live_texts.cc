// SPDX-License-Identifier: Apache-2.0
// See live_texts.h. An upstream is compared with its last state: what did not change gets no text, and costs no
// traffic.
#include "observe/live/live_texts.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "observe/status_json.h"

namespace penstock::observe {
namespace {

using Json = nlohmann::ordered_json;

void append(std::string& list, const std::string& text) {
  if (!list.empty()) list += ',';
  list += text;
}

/// What follows the fields of the process, which differ between viewers.
std::string of_upstreams(const std::string& rows, const std::string& gone, std::size_t not_shown) {
  return R"(,"notShown":)" + std::to_string(not_shown) + R"(,"upstreams":[)" + rows + R"(],"gone":[)" + gone + "]}\n\n";
}

std::string of_process(const Snapshot& snapshot, const LiveFacts& facts, bool all, bool details) {
  Json json{{"full", all}, {"now", snapshot.taken_at / 1000}};
  json.update(process_json(snapshot, *facts.config, {.shown = details, .why = details ? "" : facts.why_not}));
  std::string text = json_text(json);
  text.pop_back();  // the brace: the upstreams follow
  return "event: snapshot\ndata: " + text;
}

/// Without what only time changes, which goes on in the page too, and without groups, which are in no text. The page
/// counts what leaves each second itself.
UpstreamSnapshot lasting(UpstreamSnapshot upstream) {
  upstream.last_minute.out_per_second = 0;
  for (LimitSnapshot& limit : upstream.limits) limit.opens_in.reset(), limit.resets_in.reset();
  upstream.groups.clear();
  return upstream;
}

std::size_t activity(const UpstreamSnapshot& upstream) {
  return upstream.pending + upstream.in_flight + upstream.resting_tunnels + upstream.last_minute.out;
}

}  // namespace

std::size_t keep_busiest(std::vector<UpstreamSnapshot>& upstreams, std::size_t most) {
  if (upstreams.size() <= most) return 0;
  const std::size_t left_out = upstreams.size() - most;
  std::vector<std::size_t> order(upstreams.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto rank = [&](std::size_t i) { return std::tuple(activity(upstreams[i]), upstreams[i].entry != 0); };
  std::ranges::stable_sort(order, std::greater{}, rank);
  order.resize(most);
  std::ranges::sort(order);
  std::vector<UpstreamSnapshot> kept;
  kept.reserve(most);
  for (const std::size_t i : order) kept.push_back(std::move(upstreams[i]));
  upstreams = std::move(kept);
  return left_out;
}

LiveTexts::Texts LiveTexts::write(Snapshot snapshot, const LiveFacts& facts, const Wanted& wanted) {
  std::size_t not_shown = snapshot.upstreams_left_out + keep_busiest(snapshot.upstreams, kMostUpstreams);
  ++calls_;
  const bool wants_all = wanted.places[2] || wanted.places[3];
  std::size_t bytes = 0;  // of all texts
  std::string all_rows, changed, gone;
  for (const auto& upstream : snapshot.upstreams) {
    auto lasts = lasting(upstream);
    const auto known = rows_.find(upstream.name);
    const bool same = known != rows_.end() && known->second.lasting == lasts;
    const auto text = same && !wants_all ? "" : json_text(upstream_json(upstream, snapshot.taken_at, {}));
    const std::size_t size = text.empty() ? known->second.size : text.size() + 1;
    if (bytes + size > kMostBytes) {
      ++not_shown;
      continue;
    }
    bytes += size;
    if (wants_all) append(all_rows, text);
    if (same) {
      known->second.seen = calls_;
    } else {
      append(changed, text);
      rows_[upstream.name] = {.lasting = std::move(lasts), .size = size, .seen = calls_};
    }
  }
  std::erase_if(rows_, [&](const auto& row) {
    if (row.second.seen == calls_) return false;
    append(gone, json_text(Json(row.first)));
    return true;
  });
  const std::string tails[2] = {of_upstreams(changed, gone, not_shown), of_upstreams(all_rows, "", not_shown)};
  Texts texts;
  for (const bool all : {false, true}) {
    for (const bool details : {false, true}) {
      const std::size_t place = 2 * all + details;
      if (!wanted.places[place]) continue;
      texts.places[place] = std::make_shared<const std::string>(of_process(snapshot, facts, all, details) + tails[all]);
    }
  }
  return texts;
}

std::string details_event(const std::string& upstream, const std::optional<UpstreamDetails>& details,
                          const std::vector<GroupSnapshot>& groups, const std::string& explain) {
  constexpr std::string_view kBegin = "event: details\ndata: ";
  if (!details) return std::string(kBegin) + json_text({{"upstream", upstream}, {"gone", true}}) + "\n\n";
  const Json json{{"upstream", upstream},
                  {"waiting", waiting_json(*details)},
                  {"callers", callers_json(*details)},
                  {"groups", groups_json(groups)},
                  {"explain", explain}};
  return std::string(kBegin) + json_text(json) + "\n\n";
}

}  // namespace penstock::observe
