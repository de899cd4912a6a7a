// SPDX-License-Identifier: Apache-2.0
// One request's life, from its head to its outcome: what was asked, by whom, where it stands, and the part of its body
// that has come but not yet left. The dispatcher owns it and moves it along; its flight is a part of its own.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "flow/late_departures.h"
#include "flow/scheduler.h"
#include "http/request_parser.h"
#include "http/target.h"
#include "proxy/exchange/attempt.h"
#include "proxy/exchange/response_sink.h"

namespace penstock::proxy {

class Upstream;

/// Body bytes on their way from the client to the upstream.
class BodyBuffer {
 public:
  void append(std::string_view bytes);
  /// Moves out at most `space` bytes.
  std::size_t take(char* room, std::size_t space);
  std::size_t size() const { return bytes_.size() - taken_; }

  bool whole = false;  ///< nothing more will come
  http::Fields trailers;

 private:
  std::string bytes_;
  std::size_t taken_ = 0;
};

struct Exchange {
  enum class Stage : std::uint8_t { pending, in_flight };
  /// Whose part of caps.pendingMemory is full.
  enum class MemoryFull : std::uint8_t { no, of_all, of_this_client };
  /// What QueueShares counts it as.
  enum class Share : std::uint8_t { none, place, slot };

  Exchange(ResponseSink& who, http::RequestHead&& what);
  ~Exchange();

  ResponseSink& sink;
  http::RequestHead head;
  http::Target target;
  std::shared_ptr<const void> tables;  ///< to which the target refers, if they are no longer in force
  BodyBuffer body;

  std::uint64_t number = 0;     ///< its id in the ExchangeTable
  std::array<char, 11> name{};  ///< its id in events
  Upstream* upstream = nullptr;
  std::string group;        ///< empty: the upstream has none
  std::string group_label;  ///< as people may see it
  std::string user;         ///< whom the requester has proved to be
  int weight = 1;           ///< units of each limit that it costs
  bool anonymous = false;   ///< brings no credentials, as far as is seen: a tunnel's are not
  flow::Ticket ticket;
  flow::LimitIndex limited_by = flow::kNoLimit;          ///< the limit that made it wait
  flow::Departure departure;                             ///< that it takes, or took last; as the booker knows of it
  std::optional<flow::LateDepartures::Leaving> leaving;  ///< from its departure until its bytes leave
  Stage stage = Stage::pending;
  bool sent_again = false;
  bool rests = false;  ///< a tunnel without a slot
  std::int64_t arrived = 0;
  std::int64_t took_off = 0;
  std::int64_t waited = 0;
  std::size_t charged = 0;                  ///< of caps.pendingMemory
  HeldBytes held;                           ///< by its client, this included; nothing while it does not wait
  MemoryFull memory_full = MemoryFull::no;  ///< when it came; otherwise it may not wait
  Share share = Share::none;
  HeldBytes sharer;                             ///< by whom it is counted in QueueShares
  Exchange *older = nullptr, *newer = nullptr;  ///< of the same client, in the queue
  std::unique_ptr<Attempt> flight;

  std::string_view id() const { return {name.data(), name.size()}; }
  /// The memory that it holds while pending.
  std::size_t bytes() const;
  /// The kernel has its head by now: the limits hear of it if that is later than its departure. Only the first call
  /// after a departure counts.
  void leaves(std::int64_t now);
  /// Whether it is a tunnel, or may become one.
  bool may_rest() const { return target.tunnel || !head.upgrade.empty(); }
  /// Whether it may be sent twice: nothing but a look, and nothing to repeat.
  bool repeatable() const;
};

}  // namespace penstock::proxy
