// SPDX-License-Identifier: Apache-2.0
// Counting rejections, the pauses after them, and the queue behind the pauses. Times are microseconds.
#include "proxy/intercept/certificate_rejections.h"

#include <algorithm>

namespace penstock::proxy {

namespace {
constexpr int kCertain = 4;
constexpr int kBeforePause = 3;
constexpr CertificateRejections::Time kFirstPause = 100'000;
constexpr CertificateRejections::Time kLongestPause = 5'000'000;
constexpr CertificateRejections::Time kBetweenSlots = 100'000;
constexpr CertificateRejections::Time kBypassLasts = 3'600'000'000;

int certainty_of(CertificateRejections::Sign sign) {
  switch (sign) {
    case CertificateRejections::Sign::broken_off: return 0;
    case CertificateRejections::Sign::left: return 1;
    case CertificateRejections::Sign::alert: break;
  }
  return 2;
}

std::string name_of(const CertificateRejections::Client& client, const std::string& host) {
  return access::to_string(access::client_of(client.address)) + ' ' + host + ' ' + client.user;
}
}  // namespace

CertificateRejections::Known* CertificateRejections::find(const Client& client, const std::string& host) {
  return known_.empty() ? nullptr : known_.find(name_of(client, host));
}

const CertificateRejections::Known* CertificateRejections::find(const Client& client, const std::string& host) const {
  return known_.empty() ? nullptr : known_.find(name_of(client, host));
}

void CertificateRejections::forget() { known_.clear(); }

void CertificateRejections::rejected(const Client& client, const std::string& host, Sign sign, Time now) {
  auto& one = known_.use(name_of(client, host));
  // Rejections older than a bypass lasts no longer count.
  if (now - one.since > kBypassLasts) one.in_a_row = one.certainty = 0;
  ++one.in_a_row;
  one.certainty += certainty_of(sign);
  one.since = now;
}

void CertificateRejections::accepted(const Client& client, const std::string& host) {
  if (!known_.empty()) known_.erase(name_of(client, host));
}

CertificateRejections::Time CertificateRejections::pause_ends(const Client& client, const std::string& host,
                                                              Time now) const {
  const Known* one = find(client, host);
  if (!one || one->in_a_row < kBeforePause) return now;
  const int doubled = std::min(one->in_a_row - kBeforePause, 10);
  return std::max(now, one->since + std::min(kFirstPause << doubled, kLongestPause));
}

std::unique_ptr<CertificateRejections::Place> CertificateRejections::queue_up(const Client& client,
                                                                              const std::string& host) {
  const Known* one = find(client, host);
  if (!one || one->in_a_row < kBeforePause) return nullptr;
  return std::make_unique<Place>(one->queue, ++last_place_);
}

/// The record may be gone by now, since the client accepted or others displaced it: the handshake begins then.
CertificateRejections::Time CertificateRejections::ask_slot(const Client& client, const std::string& host,
                                                            const Place* place, Time now) {
  Known* one = place ? find(client, host) : nullptr;
  if (!one) return now;
  if (one->next_slot > now) return one->next_slot;
  if (!place->is_first()) return now + kBetweenSlots;
  one->next_slot = now + kBetweenSlots;
  return now;
}

bool CertificateRejections::bypasses(const Client& client, const std::string& host, Time now) const {
  const Known* one = bypass_ ? find(client, host) : nullptr;
  return one && one->certainty >= kCertain && now - one->since <= kBypassLasts;
}

}  // namespace penstock::proxy
