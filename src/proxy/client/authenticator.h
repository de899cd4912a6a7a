// SPDX-License-Identifier: Apache-2.0
// Checks users and passwords where the configuration has users. Credentials that were right once are remembered by a
// hash under a key of this process, and cost nothing from then on. Others are checked on a worker thread, one at a time
// and round-robin over the clients (an IPv6 client is its /64); only a few checks may wait. The loop's thread only.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "access/address.h"
#include "access/users.h"
#include "base/sip_hash.h"
#include "base/weak_self.h"
#include "http/credentials.h"
#include "http/refusal.h"
#include "loop/loop.h"
#include "loop/worker.h"

namespace penstock::proxy {

class Authenticator {
 public:
  explicit Authenticator(loop::Loop& loop);
  ~Authenticator();  ///< waits for the check under way, which takes a second at most
  Authenticator(const Authenticator&) = delete;
  Authenticator& operator=(const Authenticator&) = delete;

  /// Lets in these users from now on; nullopt: everybody. If the users differ, remembered credentials are forgotten.
  void set_users(std::optional<access::Users> users);
  bool open() const { return !users_; }
  /// Checks no more passwords: all checks, the one under way included, and all later ones are refused as busy (503, try
  /// again later).
  void end();
  /// True if a check is under way or waits, and end() was not called.
  bool is_busy() const { return !ended_ && (under_way_ || !waiting_.empty()); }

  /// The user's name, valid during the call only; or the refusal.
  using Verdict = std::expected<std::string_view, http::Refusal>;
  using OnVerdict = std::move_only_function<void(const Verdict&)>;

  /// The verdict if it is known at once; nullopt: call check().
  std::optional<Verdict> ask(const http::Fields& request);

  /// A check that was asked for. Dropping it cancels the callback.
  class Check {
    friend class Authenticator;
    std::shared_ptr<OnVerdict> on_verdict_;
  };
  /// Queues a check for a request, from this address, that ask() could not decide. `on_verdict` is called later on the
  /// loop, or, with a refusal, when a client with fewer checks takes its place. Error: bad credentials, or no room.
  std::expected<std::unique_ptr<Check>, http::Refusal> check(const http::Fields& request, const access::Address& from,
                                                             OnVerdict on_verdict);

 private:
  using Key = std::array<std::uint64_t, 2>;
  struct Hash {
    std::size_t operator()(const Key& key) const { return key[0]; }
  };
  struct Trial {
    Key key;
    access::Address client;
    http::Credentials credentials;
    std::uint64_t turn = 0;
    std::vector<std::weak_ptr<OnVerdict>> askers;
  };

  Key key_of(std::string_view encoded) const;
  Trial* find_trial(const Key& key);
  std::size_t waiting_of(const access::Address& client) const;
  bool make_room(const access::Address& client);
  bool take_place_for(std::size_t of_newcomer);
  std::uint64_t next_slot(const access::Address& client) const;
  void try_next();
  void tried(bool right);
  void open_to(std::unique_ptr<Trial> trial);
  static void tell(const Trial& trial, const Verdict& verdict);
  const std::string* remember(const Key& key, const std::string& user);

  loop::Loop& loop_;
  const std::array<base::SipKey, 3> keys_;  // two for credentials, one for user names
  std::optional<access::Users> users_;
  std::uint64_t generation_ = 0;  // counts changes of users_

  std::unordered_map<Key, std::string, Hash> known_;
  std::deque<Key> known_since_;  // the keys of known_, oldest first

  std::vector<std::unique_ptr<Trial>> waiting_;
  std::unique_ptr<Trial> under_way_;
  std::uint64_t under_way_for_ = 0;  // the generation of users_ that it is checked against
  std::uint64_t turn_ = 0;
  bool ended_ = false;
  std::optional<loop::Worker> worker_;  // made when first needed
  base::WeakSelf<Authenticator> self_{this};
};

}  // namespace penstock::proxy
