// SPDX-License-Identifier: Apache-2.0
// The authorities that several of libcurl's handles trust. Each handle would read them for itself, which holds up the
// loop for tens of milliseconds; so one reads, and lends them to the others.
#pragma once

#include <chrono>
#include <memory>

struct ssl_ctx_st;
struct ssl_st;
struct x509_store_st;

namespace penstock::tls {

class Authorities {
 public:
  /// Files are read anew after so long, for they change.
  static constexpr std::chrono::hours kGoodFor{1};

  /// From a connection that trusts them behind its handshake: until then libcurl has not read them.
  void take(const ssl_st* reader);
  /// To one that has read none. Only where can_lend().
  void lend(ssl_ctx_st* borrower) const;
  bool can_lend() const;

 private:
  struct Deleter {
    void operator()(x509_store_st* store) const;
  };
  std::unique_ptr<x509_store_st, Deleter> store_;
  std::chrono::steady_clock::time_point read_at_;
};

}  // namespace penstock::tls
