// SPDX-License-Identifier: Apache-2.0
// Remembers which clients reject our certificate for which hosts (the latest 4096 pairs). A client that keeps rejecting
// must pause before each handshake, longer each time, up to five seconds; after the pause its handshakes to that host
// begin at most ten times a second. With bypass set, it gets tunnels to that host for an hour: after two alerts in a
// row, or after leaving four times in a row after the handshake. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "access/address.h"
#include "base/lru_map.h"

namespace penstock::proxy {

class CertificateRejections {
 public:
  /// Programs on one machine share an address; the user, where authentication is on, tells them apart.
  struct Client {
    access::Address address;
    std::string user = {};
  };
  /// Microseconds on the loop's clock, like all times here.
  using Time = std::int64_t;

  /// How a client has shown that it rejects our certificate.
  enum class Sign : std::uint8_t {
    broken_off,  ///< it left amid the handshake, perhaps by a time-out: never counts towards a bypass
    left,        ///< it left after the handshake without a request, as many clients that pin do
    alert,       ///< it sent a TLS alert
  };

  void set_bypass(bool wanted) { bypass_ = wanted; }
  /// Forgets everything: the certificates they rejected are no longer used.
  void forget();

  void rejected(const Client& client, const std::string& host, Sign sign, Time now);
  void accepted(const Client& client, const std::string& host);

  /// When a handshake that is wanted now may begin at the earliest; `now` if it need not pause.
  Time pause_ends(const Client& client, const std::string& host, Time now) const;
  /// A place in the queue of handshakes with the same client and host, after the pause; dropping it leaves the queue.
  /// Null: no queue is needed.
  class Place;
  std::unique_ptr<Place> queue_up(const Client& client, const std::string& host);
  /// `now`: the handshake may begin. A later time: ask again then.
  Time ask_slot(const Client& client, const std::string& host, const Place* place, Time now);
  /// True if the client is to get a tunnel to this host.
  bool bypasses(const Client& client, const std::string& host, Time now) const;
  std::size_t size() const { return known_.size(); }

 private:
  static constexpr std::size_t kMost = 4096;
  using Queue = std::set<std::uint64_t>;  // numbers of the waiting places, in order
  struct Known {
    int in_a_row = 0;
    int certainty = 0;   // that those are rejections: 2 for each alert, 1 for each left
    Time since = 0;      // the last rejection
    Time next_slot = 0;  // when the next handshake may begin
    std::shared_ptr<Queue> queue = std::make_shared<Queue>();
  };
  Known* find(const Client& client, const std::string& host);
  const Known* find(const Client& client, const std::string& host) const;

  bool bypass_ = false;
  std::uint64_t last_place_ = 0;
  base::LruMap<Known> known_{kMost};
};

class CertificateRejections::Place {
 public:
  Place(std::shared_ptr<Queue> queue, std::uint64_t number) : queue_(std::move(queue)), number_(number) {
    queue_->insert(number_);
  }
  ~Place() { queue_->erase(number_); }
  Place(const Place&) = delete;
  bool is_first() const { return *queue_->begin() == number_; }

 private:
  const std::shared_ptr<Queue> queue_;
  const std::uint64_t number_;
};

}  // namespace penstock::proxy
