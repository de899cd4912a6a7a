// SPDX-License-Identifier: Apache-2.0
// The leaves of the hosts that Penstock stands in for: each made once, on the loop's worker thread, however many ask
// for it, and kept until others have been asked for more lately or its days are over. The loop's thread only.
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
  /// Nothing: it could not be made.
  using OnLeaf = std::move_only_function<void(const std::shared_ptr<const Leaf>&)>;

  explicit CertificateCache(loop::Loop& loop) : loop_(loop) {}

  /// Nothing: none can be made. False: it is the one that was there. Those of another are forgotten.
  bool set_authority(std::shared_ptr<const Authority> authority);
  /// None is made any more.
  bool authority_has_expired() const;

  /// Dropping it withdraws the asker.
  class Question {
    friend class CertificateCache;
    std::shared_ptr<OnLeaf> on_leaf_;
  };
  /// Calls `on_leaf`: later, on the loop; at once where the leaf is at hand, and there is no question then.
  std::unique_ptr<Question> ask(const std::string& host, OnLeaf on_leaf);

  std::size_t size() const { return kept_.size(); }
  std::uint64_t made() const { return made_; }

 private:
  using Askers = std::vector<std::weak_ptr<OnLeaf>>;

  std::shared_ptr<const Leaf> find(const std::string& host);
  void make_next();
  void is_made(const std::string& host, const std::shared_ptr<const Authority>& by, std::shared_ptr<const Leaf> leaf);

  loop::Loop& loop_;
  std::shared_ptr<const Authority> authority_;
  base::LruMap<std::shared_ptr<const Leaf>> kept_{kMost};  // by host
  std::unordered_map<std::string, Askers> asked_for_;
  std::deque<std::string> waiting_;  // of these, in order
  bool making_ = false;
  std::uint64_t made_ = 0;
  base::WeakSelf<CertificateCache> self_{this};
};

}  // namespace penstock::tls
