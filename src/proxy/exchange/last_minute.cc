// SPDX-License-Identifier: Apache-2.0
// See last_minute.h. It counts as the metrics do, so that both show the same.
#include "proxy/exchange/last_minute.h"

#include <bit>

namespace penstock::proxy {

namespace {
constexpr int kBits = 4;  // of a duration that its bucket keeps beside the highest
constexpr std::uint64_t kExact = 1U << kBits;

/// At take-off it is unknown whether an upgrade will become a tunnel, which lasts as long as its client likes.
bool is_timed(const Event& event) { return !event.tunnel && event.upgrade.empty(); }

/// True once for each request that waited, or left at once. One that was refused on arrival has not waited.
bool left_queue(const Event& event) {
  return event.kind == EventKind::dispatch || event.kind == EventKind::gone ||
         (event.kind == EventKind::refused && event.wait > Duration{0});
}
}  // namespace

// ---- durations ------------------------------------------------------------------------------------------------------

std::uint16_t Durations::bucket_of(flow::Time duration) {
  const auto value = static_cast<std::uint64_t>(duration);
  if (value < kExact) return static_cast<std::uint16_t>(value);
  const auto shift = static_cast<int>(std::bit_width(value)) - 1 - kBits;
  return static_cast<std::uint16_t>((static_cast<std::uint64_t>(shift) << kBits) + (value >> shift));
}

flow::Time Durations::middle_of(std::uint16_t bucket) {
  if (bucket < kExact) return bucket;
  const int shift = (bucket >> kBits) - 1;
  const std::uint64_t low = (kExact + (bucket & (kExact - 1))) << shift;
  return static_cast<flow::Time>(low + (std::uint64_t{1} << shift) / 2);
}

flow::Time Durations::at_rank(std::uint64_t rank) const {
  std::uint64_t seen = 0;
  for (const auto& [bucket, count] : buckets_.counts()) {
    seen += count;
    if (seen >= rank) return std::min(middle_of(bucket), max_);
  }
  return max_;
}

Percentiles Durations::percentiles() const {
  Percentiles of;
  for (const auto& [bucket, count] : buckets_.counts()) of.count += count;
  if (of.count == 0) return of;
  const auto at = [&](std::uint64_t percent) { return Duration{at_rank((of.count * percent + 99) / 100)}; };
  return {.count = of.count, .p50 = at(50), .p95 = at(95), .p99 = at(99), .max = Duration{max_}};
}

// ---- slices ---------------------------------------------------------------------------------------------------------

void LastMinuteCounts::Slice::clear() {
  out = upstream_429 = 0;
  statuses.clear(), refused.clear();
  wait.clear(), flight.clear();
}

LastMinuteCounts::Slice& LastMinuteCounts::slice(flow::Time now) {
  const std::int64_t number = now / kSlice;
  auto& slice = slices_[static_cast<std::size_t>(number) % slices_.size()];
  if (!slice) slice = std::make_unique<Slice>(Slice{.number = number});
  if (slice->number != number) slice->clear(), slice->number = number;
  return *slice;
}

void LastMinuteCounts::record(const Event& event) {
  Slice& now = slice(event.at);
  if (left_queue(event) && event.wait) now.wait.add(event.wait->count());
  if (event.kind == EventKind::dispatch) return void(++now.out);
  if (event.status != 0) now.statuses.add(static_cast<std::uint16_t>(event.status));
  if (event.kind == EventKind::refused) now.refused.add(event.refusal);
  if (event.kind != EventKind::complete && event.kind != EventKind::error) return;
  now.upstream_429 += static_cast<std::uint64_t>(std::ranges::count(event.refusals, 429));
  if (is_timed(event) && event.flight) now.flight.add(event.flight->count());
}

LastMinute LastMinuteCounts::at(flow::Time now) const {
  const std::int64_t running = now / kSlice;
  const std::int64_t oldest = running - static_cast<std::int64_t>(slices_.size()) + 1;
  Slice sum;
  std::uint64_t lately = 0;  // in the running slice and the one before it
  for (const auto& slice : slices_) {
    if (!slice || slice->number < oldest) continue;
    sum.out += slice->out;
    if (slice->number >= running - 1) lately += slice->out;
    sum.upstream_429 += slice->upstream_429;
    sum.statuses.add(slice->statuses), sum.refused.add(slice->refused);
    sum.wait.add(slice->wait), sum.flight.add(slice->flight);
  }
  const auto seconds = static_cast<double>(now - (running - 1) * kSlice) / 1e6;
  LastMinute minute{.out = sum.out,
                    .out_per_second = static_cast<double>(lately) / seconds,
                    .upstream_429 = sum.upstream_429,
                    .wait = sum.wait.percentiles(),
                    .flight = sum.flight.percentiles()};
  for (const auto& [kind, count] : sum.refused.counts()) minute.refused.emplace_back(kind, count);
  for (const auto& [status, count] : sum.statuses.counts()) minute.statuses.emplace_back(status, count);
  return minute;
}

}  // namespace penstock::proxy
