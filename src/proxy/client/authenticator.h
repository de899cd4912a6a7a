// SPDX-License-Identifier: Apache-2.0
// Lets in clients that name themselves, where the configuration has users. A password that was right once is known by
// its hash under a key of this process from then on, and costs nothing more; others are tried on a thread of their own,
// one after the other, each client in its turn (an IPv6 one is its /64), and no more than a few may wait.
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
  ~Authenticator();  ///< waits for a password under trial, which takes a second at most
  Authenticator(const Authenticator&) = delete;
  Authenticator& operator=(const Authenticator&) = delete;

  /// From now on these are let in; nothing: everybody. If they are others, nobody is known any more.
  void set_users(std::optional<access::Users> users);
  bool open() const { return !users_; }
  /// No more passwords are tried: whoever waits is told to come again, and so is whoever asks from now on. This goes
  /// for the password under trial too.
  void end();
  /// Whether end() would be news to anybody.
  bool is_busy() const { return !ended_ && (under_way_ || !waiting_.empty()); }

  /// The user's name, valid for the moment, or why not.
  using Verdict = std::expected<std::string_view, http::Refusal>;
  using OnVerdict = std::move_only_function<void(const Verdict&)>;

  /// What can be said at once. Nothing: check() must be called.
  std::optional<Verdict> ask(const http::Fields& request);

  /// Dropping it withdraws the asker.
  class Check {
    friend class Authenticator;
    std::shared_ptr<OnVerdict> on_verdict_;
  };
  /// Of a request about which ask() could not say anything, from this address. `on_verdict` is called later, on the
  /// loop, or when the place is wanted for a client that has fewer. Otherwise: there is no room for another.
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
  std::uint64_t next_turn(const access::Address& client) const;
  void try_next();
  void tried(bool right);
  void open_to(std::unique_ptr<Trial> trial);
  static void tell(const Trial& trial, const Verdict& verdict);
  const std::string* remember(const Key& key, const std::string& user);

  loop::Loop& loop_;
  const std::array<base::SipKey, 3> keys_;  // of credentials, twice, and of names
  std::optional<access::Users> users_;
  std::uint64_t generation_ = 0;  // of users_

  std::unordered_map<Key, std::string, Hash> known_;
  std::deque<Key> known_since_;  // the oldest first

  std::vector<std::unique_ptr<Trial>> waiting_;
  std::unique_ptr<Trial> under_way_;
  std::uint64_t under_way_for_ = 0;  // the generation that it is held against
  std::uint64_t turn_ = 0;
  bool ended_ = false;
  std::optional<loop::Worker> worker_;  // made when first needed
  base::WeakSelf<Authenticator> self_{this};
};

}  // namespace penstock::proxy
