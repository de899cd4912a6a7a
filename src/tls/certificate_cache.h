// SPDX-License-Identifier: Apache-2.0
// Certificate cache: the leaf certificates of the hosts that Penstock impersonates. Each is made once, on the loop's
// worker thread, however many requests ask for it, and kept until it is among the least recently used or is about to
// expire. To be used from the loop's thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/lru_map.h"
#include "base/weak_self.h"
#include "loop/loop.h"
#include "tls/authority.h"

namespace penstock::tls {

class CertificateCache {
 public:
  static constexpr std::size_t kMost = 1000;
  /// Null: the leaf could not be made.
  using OnLeaf = std::move_only_function<void(const std::shared_ptr<const Leaf>&)>;

  explicit CertificateCache(loop::Loop& loop) : loop_(loop) {}

  /// Null: no leaf can be made. Returns false if `authority` equals the current one; otherwise forgets all leaves.
  bool set_authority(std::shared_ptr<const Authority> authority);
  /// The authority has expired, so no leaf is made any more.
  bool authority_has_expired() const;

  /// A pending request for a leaf; dropping it cancels the call of `on_leaf`.
  class Question {
    friend class CertificateCache;
    std::shared_ptr<OnLeaf> on_leaf_;
  };
  /// Calls `on_leaf` later, from the loop; or at once, and returns null, if the leaf is cached or there is no
  /// authority.
  std::unique_ptr<Question> ask(const std::string& host, OnLeaf on_leaf);

  std::size_t size() const { return kept_.size(); }
  std::uint64_t made() const { return made_; }

 private:
  using Askers = std::vector<std::weak_ptr<OnLeaf>>;

  std::shared_ptr<const Leaf> find(const std::string& host);
  void make_next();
  void is_made(const std::string& host, const std::shared_ptr<const Authority>& by,
               const std::shared_ptr<const Leaf>& leaf);

  loop::Loop& loop_;
  std::shared_ptr<const Authority> authority_;
  base::LruMap<std::shared_ptr<const Leaf>> kept_{kMost};  // by host
  std::unordered_map<std::string, Askers> asked_for_;
  std::deque<std::string> waiting_;  // hosts of `asked_for_` whose leaf is yet to be made, in order
  bool making_ = false;
  std::uint64_t made_ = 0;
  base::WeakSelf<CertificateCache> self_{this};
};

}  // namespace penstock::tls
