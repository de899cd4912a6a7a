// SPDX-License-Identifier: Apache-2.0
// The trusted authorities that several libcurl handles share. Reading them holds up the loop for tens of milliseconds,
// so one handle reads them and the others borrow its store.
#pragma once

#include <chrono>
#include <memory>

struct ssl_ctx_st;
struct ssl_st;
struct x509_store_st;

namespace penstock::tls {

class Authorities {
 public:
  /// After this long the files are read again, because they change.
  static constexpr std::chrono::hours kGoodFor{1};

  /// Takes the store of a connection after its handshake; libcurl has not read it earlier.
  void take(const ssl_st* reader);
  /// Gives the store to a context that has read none. Only if can_lend().
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
