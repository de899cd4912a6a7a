// SPDX-License-Identifier: Apache-2.0
// The requests of one lane in the order in which they leave: returned ones first, then by arrival. Internal to flow/.
#pragma once

#include <cstddef>
#include <cstdint>

#include "flow/requests.h"

namespace penstock::flow {

class LaneQueue {
 public:
  // Requests that may take a departure. Tunnels outside do not count.
  std::size_t size() const { return returned_.size() + waiting_.size(); }
  bool empty() const { return size() == 0; }
  std::size_t returned() const { return returned_.size(); }
  const RequestList& waiting() const { return waiting_; }
  const RequestList& sent_before() const { return returned_; }
  std::int64_t units() const { return units_; }
  std::uint32_t head() const { return returned_.empty() ? waiting_.front() : returned_.front(); }
  /// The request with this many others before it; needs that there is one.
  std::uint32_t behind(const Requests& requests, std::size_t others) const;
  /// How many requests from that one on, at most `most`, have the same load, and the load.
  struct Run {
    std::size_t count;
    Load load;
  };
  Run run_behind(const Requests& requests, std::size_t others, std::size_t most) const;

  /// As the request says: outside, returned or waiting.
  void join(Requests& requests, std::uint32_t index);
  /// One that has waited before takes its place by arrival.
  void join_again(Requests& requests, std::uint32_t index);
  void remove(Requests& requests, std::uint32_t index);

  // Places in the upstream's queue.
  std::size_t places() const { return waiting_.size() + outside_; }
  std::size_t outside() const { return outside_; }
  /// The newest request that holds one, without those outside; needs at least one.
  std::uint32_t newest() const { return waiting_.back(); }
  // Requests beyond a full queue, which wait only for an answer under way: it may start them.
  std::size_t beyond() const { return beyond_; }
  std::uint32_t newest_beyond(const Requests& requests) const;  ///< needs at least one
  void admit_all(Requests& requests);                           ///< gives each of them a place

 private:
  void count(const Request& request, bool joins);

  RequestList returned_;
  RequestList waiting_;
  std::size_t outside_ = 0;  // tunnels that wait until others end, in the list of the upstream
  std::size_t beyond_ = 0;
  std::int64_t units_ = 0;   // of returned_ and waiting_
  std::size_t heavier_ = 0;  // how many of these weigh or cost more than 1
};

}  // namespace penstock::flow
