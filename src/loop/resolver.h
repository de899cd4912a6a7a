// SPDX-License-Identifier: Apache-2.0
// Resolves names to addresses with c-ares on the loop: the one place in Penstock where a name is looked up. Reads
// /etc/hosts first, joins lookups of the same name, and remembers answers for their TTL.
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "loop/loop.h"
#include "penstock/config.h"

namespace penstock::loop {

/// IPv4 and IPv6 as text, in the order in which they should be tried. Never empty.
using Addresses = std::vector<std::string>;

struct LookupFailure {
  bool timed_out = false;
  std::string rcode;  ///< `NXDOMAIN`, `SERVFAIL`, `NODATA`, …
};

using LookupResult = std::expected<Addresses, LookupFailure>;

class Resolver {
 public:
  using OnAnswer = std::move_only_function<void(const LookupResult&)>;

  Resolver(Loop& loop, const DnsConfig& config);
  ~Resolver();  ///< open lookups are never answered

  /// A lookup under way. Dropping it cancels the callback.
  class Lookup {
   public:
    ~Lookup();

   private:
    friend class Resolver;
    std::shared_ptr<OnAnswer> on_answer_;
  };

  /// Looks up `host`, a name in lower case. Calls back later, never from inside the call.
  std::unique_ptr<Lookup> ask(std::string_view host, OnAnswer on_answer);
  /// The remembered addresses, valid until the next lookup ends; null: none, call ask().
  const Addresses* remembered(std::string_view host) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace penstock::loop
