// SPDX-License-Identifier: Apache-2.0
// Pauses that other processes have announced and that no lane of this process has learned yet, by the hashes of groups.
// A pause is kept for a minute after its end, so that a lane that asks then still gets a gate. It is forgotten sooner
// when another process announces that its probe was answered. Pure. For pause_messages.
#pragma once

#include <optional>
#include <string_view>

#include "flow/limit.h"
#include "flow/pauses.h"

namespace penstock::redis {

class AnnouncedPauses {
 public:
  static constexpr flow::Time kKept = 60'000'000;

  bool empty() const { return ends_.empty(); }
  void note(flow::Time now, std::string_view hash, flow::Time until) { ends_.extend(now - kKept, hash, until); }
  /// Its end, which may be past; it is forgotten.
  std::optional<flow::Time> take(std::string_view hash) { return ends_.take(hash); }
  /// All end at `latest` at the latest.
  void shorten(flow::Time latest) { ends_.shorten(latest); }

 private:
  flow::Pauses ends_;
};

}  // namespace penstock::redis
