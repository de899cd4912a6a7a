// SPDX-License-Identifier: Apache-2.0
// See slot_map.h. Nodes before Redis 7 tell address, port and id; later ones add a list of what else they are known by.
#include "redis/wire/slot_map.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <utility>

namespace penstock::redis {

namespace {

constexpr std::size_t kMostMasters = 4'000, kLongestHost = 255;

/// CRC-16/XMODEM: the polynomial 0x1021, from 0 on, nothing reflected.
constexpr auto kCrcOfByte = [] {
  std::array<std::uint16_t, 256> table{};
  for (std::size_t byte = 0; byte < table.size(); ++byte) {
    auto crc = static_cast<std::uint16_t>(byte << 8);
    for (int bit = 0; bit < 8; ++bit) crc = static_cast<std::uint16_t>(crc & 0x8000 ? crc << 1 ^ 0x1021 : crc << 1);
    table[byte] = crc;
  }
  return table;
}();

std::uint16_t crc16(std::string_view bytes) {
  std::uint16_t crc = 0;
  for (const unsigned char byte : bytes) crc = static_cast<std::uint16_t>(crc << 8 ^ kCrcOfByte[crc >> 8 ^ byte]);
  return crc;
}

/// An empty tag is none, and only the first opening brace counts.
std::string_view tag_of(std::string_view key) {
  const auto open = key.find('{');
  if (open == std::string_view::npos) return key;
  const auto close = key.find('}', open + 1);
  return close == std::string_view::npos || close == open + 1 ? key : key.substr(open + 1, close - open - 1);
}

/// What a node says that does not know its address, or is to have a name and has none.
bool is_unknown(std::string_view host) { return host.empty() || host == "?"; }

template <typename Number>
bool read_number(std::string_view digits, Number& into) {
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), into);
  return error == std::errc() && end == digits.data() + digits.size();
}

struct Told {
  SlotMap::Node node;
  std::string address;  // beside a name by which to reach it; empty: none is told
};

/// Endpoint, port, id, and from Redis 7 on a list: ip, address, hostname, name.
std::optional<Told> node_in(Elements parts, std::string_view asked) {
  const Reply endpoint = parts.next(), port = parts.next();
  parts.next();  // its id
  Told told;
  for (auto more = parts.next().elements(); more.left() >= 2;) {
    const auto what = more.next().text(), value = more.next().text();
    if (what == "hostname" && !is_unknown(value)) told.node.name = value;
    if (what == "ip" && !is_unknown(value)) told.address = value;
  }
  const std::string_view host = endpoint.text();
  told.node.endpoint.address = !is_unknown(host) ? host : !told.address.empty() ? told.address : asked;
  const auto number = port.integer();
  if (number <= 0 || number > std::numeric_limits<std::uint16_t>::max()) return std::nullopt;
  if (told.node.endpoint.address.size() > kLongestHost || told.address.size() > kLongestHost) return std::nullopt;
  told.node.endpoint.port = static_cast<std::uint16_t>(number);
  return told;
}

}  // namespace

Slot slot_of(std::string_view key) { return crc16(tag_of(key)) % kSlots; }

std::expected<SlotMap, std::string> SlotMap::read(const Reply& slots, std::string_view asked) {
  if (slots.kind() != Reply::Kind::array) return std::unexpected("its answer to CLUSTER SLOTS makes no sense");
  SlotMap map;
  map.owners_.assign(kSlots, 0);
  for (auto ranges = slots.elements(); ranges.left() > 0;) {
    if (!map.add(ranges.next().elements(), asked)) return std::unexpected("its answer to CLUSTER SLOTS makes no sense");
  }
  if (map.empty())
    return std::unexpected("its cluster has given no slots to any node; redis-cli --cluster fix gives them");
  std::ranges::sort(map.endpoints_, {}, [](const Endpoint& one) { return std::pair(one.address, one.port); });
  const auto twice = std::ranges::unique(map.endpoints_);
  map.endpoints_.erase(twice.begin(), twice.end());
  return map;
}

/// First slot, last slot, the master, its replicas.
bool SlotMap::add(Elements range, std::string_view asked) {
  const Reply from = range.next(), to = range.next();
  const auto first = from.integer(), last = to.integer();
  const bool fits = from.kind() == Reply::Kind::integer && first >= 0 && first <= last &&
                    last < static_cast<std::int64_t>(kSlots) && range.left() > 0;
  if (!fits) return false;
  for (bool is_master = true; range.left() > 0; is_master = false) {
    const auto told = node_in(range.next().elements(), asked);
    if (!told) return false;
    note(told->node);
    endpoints_.push_back(told->node.endpoint);
    if (!told->address.empty()) endpoints_.push_back({told->address, told->node.endpoint.port});
    if (!is_master) continue;
    const auto number = number_of(told->node);
    if (number == 0) return false;
    std::fill(owners_.begin() + first, owners_.begin() + last + 1, number);
  }
  return true;
}

void SlotMap::note(const Node& node) {
  if (std::ranges::find(nodes_, node.endpoint, &Node::endpoint) == nodes_.end()) nodes_.push_back(node);
}

/// 0: there are too many.
std::uint16_t SlotMap::number_of(const Node& master) {
  const auto known = std::ranges::find(masters_, master.endpoint, &Node::endpoint);
  const auto number = static_cast<std::uint16_t>(known - masters_.begin() + 1);
  if (known != masters_.end()) return number;
  if (masters_.size() == kMostMasters) return 0;
  masters_.push_back(master);
  return number;
}

const SlotMap::Node* SlotMap::owner(Slot slot) const {
  const auto number = owners_.empty() ? 0 : owners_[slot];
  return number == 0 ? nullptr : &masters_[number - 1u];
}

bool SlotMap::has_slots(const Endpoint& endpoint) const {
  const auto known = std::ranges::find(masters_, endpoint, &Node::endpoint);
  if (known == masters_.end()) return false;
  return std::ranges::find(owners_, static_cast<std::uint16_t>(known - masters_.begin() + 1)) != owners_.end();
}

const SlotMap::Node* SlotMap::find_node(const Endpoint& endpoint) const {
  const auto known = std::ranges::find(nodes_, endpoint, &Node::endpoint);
  return known == nodes_.end() ? nullptr : &*known;
}

bool SlotMap::move(Slot slot, const Endpoint& endpoint) {
  const Node* const before = owner(slot);
  if (before && before->endpoint == endpoint) return false;
  if (owners_.empty()) owners_.assign(kSlots, 0);
  const Node* const known = find_node(endpoint);
  const Node node = known ? *known : Node{.endpoint = endpoint, .name = {}};
  owners_[slot] = number_of(node);
  note(node);
  if (std::ranges::find(endpoints_, endpoint) == endpoints_.end()) endpoints_.push_back(endpoint);
  return true;
}

std::optional<Redirection> redirection_in(std::string_view error_reply, std::string_view asked) {
  const auto next_word = [&] {
    const auto word = error_reply.substr(0, error_reply.find(' '));
    error_reply.remove_prefix(std::min(error_reply.size(), word.size() + 1));
    return word;
  };
  const auto code = next_word(), slot = next_word(), endpoint = next_word();
  Redirection to{.once = code == "ASK", .slot = 0, .endpoint = {}};
  const auto colon = endpoint.rfind(':');  // an IPv6 address has no brackets here
  const bool reads = (to.once || code == "MOVED") && read_number(slot, to.slot) && to.slot < kSlots &&
                     colon != std::string_view::npos && read_number(endpoint.substr(colon + 1), to.endpoint.port) &&
                     to.endpoint.port != 0 && colon <= kLongestHost;
  if (!reads) return std::nullopt;
  const auto host = endpoint.substr(0, colon);
  to.endpoint.address = is_unknown(host) ? asked : host;
  return to;
}

}  // namespace penstock::redis
