// SPDX-License-Identifier: Apache-2.0
// Which clients do not take our certificate for which hosts. Who rejects it again and again waits longer from time to
// time, up to five seconds, and then begins ten times a second at most, lest it do nothing else; or, where that is
// wanted, gets tunnels to that host for an hour: who has said twice in a row that it rejects it, or has left four times
// in a row behind the handshake. Remembers the 4096 of late. Pure.
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
  /// Programs of one machine share an address; where they must name a user, that tells them apart.
  struct Client {
    access::Address address;
    std::string user = {};
  };
  /// Microseconds on the loop's clock, like all times here.
  using Time = std::int64_t;

  /// How a client has shown that it does not take our certificate.
  enum class Sign : std::uint8_t {
    broken_off,  ///< it left amid the handshake: that may have been a time-out, and no reason to let it off the limits
    left,        ///< it left when the handshake was done, and asked nothing: so do many that pin
    alert,       ///< it said so
  };

  void set_bypass(bool wanted) { bypass_ = wanted; }
  /// What they did not take is shown no more.
  void forget();

  void rejected(const Client& client, const std::string& host, Sign sign, Time now);
  void accepted(const Client& client, const std::string& host);

  /// Until when a handshake that is wanted now has to wait; `now`, where it has not.
  Time pause_ends(const Client& client, const std::string& host, Time now) const;
  /// Behind that pause, among all who have the same client and host; goes with who waits. Nothing: nobody has to.
  class Place;
  std::unique_ptr<Place> queue_up(const Client& client, const std::string& host);
  /// `now`: the handshake begins. Later: it is to ask again then.
  Time ask_turn(const Client& client, const std::string& host, const Place* place, Time now);
  /// Whether it is to have a tunnel.
  bool bypasses(const Client& client, const std::string& host, Time now) const;
  std::size_t size() const { return known_.size(); }

 private:
  static constexpr std::size_t kMost = 4096;
  using Queue = std::set<std::uint64_t>;  // of who waits, in order
  struct Known {
    int in_a_row = 0;
    int certainty = 0;   // of these, that they are what they look like
    Time since = 0;      // the last one
    Time next_turn = 0;  // of a handshake
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
