// SPDX-License-Identifier: Apache-2.0
// Which node of a Redis Cluster keeps a key: hash slots, the map of them that nodes tell, and the replies by which a
// node sends a caller to another. Pure. The rules:
// https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/config.h"
#include "redis/wire/reply.h"

namespace penstock::redis {

using Slot = std::uint16_t;
inline constexpr std::size_t kSlots = 16384;

/// Where a key has a hash tag, {so}, the slot is that of the tag.
Slot slot_of(std::string_view key);

class SlotMap {
 public:
  struct Node {
    Endpoint endpoint;
    std::string name;  ///< the host name that it announces; empty: none
    bool operator==(const Node&) const = default;
  };

  /// Reads the reply to CLUSTER SLOTS. A node that does not know its own address is at the one that was `asked`. The
  /// error is a text for a notice.
  static std::expected<SlotMap, std::string> read(const Reply& slots, std::string_view asked);

  /// The master that has the slot; null: none, as far as known. Valid until the map is changed.
  const Node* owner(Slot slot) const;
  /// Whether it has any slot.
  bool has_slots(const Endpoint& endpoint) const;
  /// A node says that the slot is now at that endpoint. False: that was known.
  bool move(Slot slot, const Endpoint& endpoint);
  /// All nodes, replicas among them.
  const std::vector<Node>& nodes() const { return nodes_; }
  /// All endpoints that they announce: a node may have several.
  const std::vector<Endpoint>& endpoints() const { return endpoints_; }
  /// The node that announces this endpoint; null: none that is known. Valid until the map is changed.
  const Node* find_node(const Endpoint& endpoint) const;
  bool empty() const { return masters_.empty(); }

 private:
  std::uint16_t number_of(const Node& master);
  void note(const Node& node);
  bool add(Elements range, std::string_view asked);

  std::vector<Node> masters_, nodes_;
  std::vector<std::uint16_t> owners_;  // of each slot: the number of its master in `masters_`, from 1 on; 0: none
  std::vector<Endpoint> endpoints_;
};

/// "MOVED 3999 127.0.0.1:6381" or "ASK …".
struct Redirection {
  bool once = false;  ///< ASK: for this call alone; the slot is on its way
  Slot slot = 0;
  Endpoint endpoint;
};
/// A node that does not know its own address is at the one that was `asked`. Nothing: the reply is none of these.
std::optional<Redirection> redirection_in(std::string_view error_reply, std::string_view asked);

}  // namespace penstock::redis
