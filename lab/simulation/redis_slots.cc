// SPDX-License-Identifier: Apache-2.0
// The order of the checks is that of getNodeByQuery() in Redis 7.0.
#include "simulation/redis_slots.h"

#include <algorithm>
#include <cstddef>

namespace penstock::simulation {

namespace {

/// CRC-16/XMODEM, bit by bit.
unsigned crc_of(std::string_view bytes) {
  unsigned crc = 0;
  for (const unsigned char byte : bytes) {
    crc ^= static_cast<unsigned>(byte) << 8;
    for (int bit = 0; bit < 8; ++bit) crc = (crc & 0x8000u ? crc << 1 ^ 0x1021u : crc << 1) & 0xffffu;
  }
  return crc;
}

std::string redirection(std::string_view code, int slot, int node) {
  return std::string(code) + " " + std::to_string(slot) + " " + std::string(RedisSlots::kAddress) + ":" +
         std::to_string(RedisSlots::kFirstPort + node);
}

constexpr std::string_view kDown = "CLUSTERDOWN The cluster is down", kUnserved = "CLUSTERDOWN Hash slot not served",
                           kCross = "CROSSSLOT Keys in request don't hash to the same slot",
                           kTryAgain = "TRYAGAIN Multiple keys request during rehashing of slot";

}  // namespace

int RedisSlots::slot_of(std::string_view key) {
  const auto open = key.find('{');
  const auto close = open == key.npos ? key.npos : key.find('}', open + 1);
  const bool tagged = close != key.npos && close > open + 1;
  return static_cast<int>(crc_of(tagged ? key.substr(open + 1, close - open - 1) : key) % kSlots);
}

void RedisSlots::give_all(int from, int to) {
  std::ranges::replace(owners_, static_cast<std::int16_t>(from), static_cast<std::int16_t>(to));
}

std::string RedisSlots::refusal(Words keys, bool asking, RedisKeys& held) const {
  if (keys.empty()) return {};
  const int slot = slot_of(keys.front());
  const bool one_slot = std::ranges::all_of(keys, [slot](auto key) { return slot_of(key) == slot; });
  const bool several = std::ranges::any_of(keys, [&](auto key) { return key != keys.front(); });
  const int node = owner(slot);
  if (node == kNobody) return std::string(kUnserved);
  if (!one_slot) return std::string(kCross);
  if (down_) return std::string(kDown);
  const bool moves = moving_.slot == slot;
  const auto missing = static_cast<std::size_t>(
      moves ? std::ranges::count_if(keys, [&](auto key) { return held.find(key) == nullptr; }) : 0);
  if (moves && moving_.away && node == me_ && missing > 0) {
    return missing < keys.size() ? std::string(kTryAgain) : redirection("ASK", slot, moving_.other);
  }
  if (moves && !moving_.away && asking) return several && missing > 0 ? std::string(kTryAgain) : std::string();
  return node == me_ ? std::string() : redirection("MOVED", slot, node);
}

std::string_view RedisSlots::refusal_to_script(std::string_view key, bool asking, RedisKeys& held) const {
  const std::string_view keys[] = {key};
  const std::string refused = refusal(keys, asking, held);
  if (refused.empty()) return {};
  return refused == kDown ? "ERR Script attempted to execute a command while the cluster is down"
                          : "ERR Script attempted to access a non local key in a cluster node";
}

/// Of each range of slots: first, last, and its master with an empty list of other names.
void RedisSlots::tell(Answer& answer) const {
  struct Range {
    int first, last, node;
  };
  std::vector<Range> ranges;
  for (int slot = 0; slot < kSlots; ++slot) {
    const int node = owner(slot);
    if (!ranges.empty() && ranges.back().node == node && ranges.back().last == slot - 1)
      ranges.back().last = slot;
    else if (node != kNobody)
      ranges.push_back({slot, slot, node});
  }
  answer.array(ranges.size());
  for (const Range& range : ranges) {
    answer.array(3);
    answer.integer(range.first);
    answer.integer(range.last);
    answer.array(4);
    answer.text(kAddress);
    answer.integer(kFirstPort + range.node);
    answer.text("node" + std::to_string(range.node));
    answer.array(0);
  }
}

}  // namespace penstock::simulation
