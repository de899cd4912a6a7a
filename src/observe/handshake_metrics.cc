// SPDX-License-Identifier: Apache-2.0
// See handshake_metrics.h.
#include "observe/handshake_metrics.h"

#include <utility>

namespace penstock::observe {
namespace {

constexpr std::array kHandshakeResults = {
    std::pair{&HandshakeTotals::done, "done"},           std::pair{&HandshakeTotals::rejected, "rejected"},
    std::pair{&HandshakeTotals::left, "left"},           std::pair{&HandshakeTotals::failed, "failed"},
    std::pair{&HandshakeTotals::timed_out, "timed_out"}, std::pair{&HandshakeTotals::bypassed, "bypassed"},
};

}  // namespace

HandshakeMetrics::HandshakeMetrics(Counters& family, std::string label) : family_(family), label_(std::move(label)) {}

void HandshakeMetrics::show(bool intercepted) {
  static_assert(kHandshakeResults.size() == kResults);
  for (std::size_t i = 0; i < kResults; ++i) {
    auto& shown = results_[i];
    if (!intercepted) shown = {};
    if (intercepted && !shown) shown = {family_, {{"upstream", label_}, {"result", kHandshakeResults[i].second}}};
  }
}

void HandshakeMetrics::count(const HandshakeTotals& now) {
  const HandshakeTotals before = std::exchange(counted_, now);
  for (std::size_t i = 0; i < kResults; ++i) {
    const auto result = kHandshakeResults[i].first;
    const auto more = now.*result - (now.*result < before.*result ? 0 : before.*result);  // less: counted again
    if (results_[i]) results_[i]->Increment(static_cast<double>(more));
  }
}

}  // namespace penstock::observe
