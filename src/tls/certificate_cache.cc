// SPDX-License-Identifier: Apache-2.0
// See certificate_cache.h.
#include "tls/certificate_cache.h"

#include <algorithm>
#include <utility>

namespace penstock::tls {

namespace {
std::int64_t seconds_now() { return loop::system_wall() / 1'000'000; }
}  // namespace

bool CertificateCache::set_authority(std::shared_ptr<const Authority> authority) {
  const bool same = authority && authority_ && *authority == *authority_;
  if (same) return false;
  authority_ = std::move(authority);
  kept_.clear();
  return true;
}

bool CertificateCache::authority_has_expired() const { return authority_ && authority_->good_until() <= seconds_now(); }

std::unique_ptr<CertificateCache::Question> CertificateCache::ask(const std::string& host, OnLeaf on_leaf) {
  if (const auto leaf = find(host); leaf || !authority_) {
    on_leaf(leaf);
    return nullptr;
  }
  auto question = std::make_unique<Question>();
  question->on_leaf_ = std::make_shared<OnLeaf>(std::move(on_leaf));
  const auto [askers, first] = asked_for_.try_emplace(host);
  askers->second.push_back(question->on_leaf_);
  if (first) waiting_.push_back(host);
  make_next();
  return question;
}

std::shared_ptr<const Leaf> CertificateCache::find(const std::string& host) {
  const auto* known = kept_.find(host);
  return known && (*known)->is_good_at(seconds_now()) ? kept_.use(host) : nullptr;
}

void CertificateCache::make_next() {
  const auto gone = [](const auto& asker) { return asker.expired(); };
  while (!making_ && !waiting_.empty() && std::ranges::all_of(asked_for_[waiting_.front()], gone)) {
    asked_for_.erase(waiting_.front());
    waiting_.pop_front();
  }
  if (making_ || waiting_.empty()) return;
  making_ = true;
  auto host = std::move(waiting_.front());
  waiting_.pop_front();
  auto leaf = std::make_shared<std::shared_ptr<const Leaf>>();
  loop_.offload(
      [authority = authority_, host, leaf] { *leaf = authority ? authority->sign(host, seconds_now()) : nullptr; },
      [authority = authority_, host, leaf, self = self_.ref()] {
        if (self) self->is_made(host, authority, *leaf);
      });
}

void CertificateCache::is_made(const std::string& host, const std::shared_ptr<const Authority>& by,
                               const std::shared_ptr<const Leaf>& leaf) {
  making_ = false;
  if (by != authority_) {  // the authority was replaced meanwhile
    waiting_.push_front(host);
    return make_next();
  }
  if (leaf) kept_.use(host) = leaf, ++made_;
  const auto askers = asked_for_.extract(host);
  make_next();
  for (const auto& asker : askers.mapped()) {
    if (const auto on_leaf = asker.lock()) (*on_leaf)(leaf);
  }
}

}  // namespace penstock::tls
