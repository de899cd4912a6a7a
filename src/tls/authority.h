// SPDX-License-Identifier: Apache-2.0
// The certificate authority of this machine, with which Penstock impersonates hosts to clients that trust it, and the
// leaf certificates that it signs, one per host. Either the authority is made once and is good for ten years, or it is
// made for one command and its hosts, in memory alone.
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <vector>

#include "penstock/error.h"
#include "tls/settings.h"

struct evp_pkey_st;
struct x509_st;

namespace penstock::tls {

/// Two texts in PEM form.
struct AuthorityPem {
  std::string certificate, key;
};

/// The paths of two files.
struct AuthorityFiles {
  std::string certificate, key;
  /// The key is a systemd credential: only this service can read it, so group permissions do not matter.
  bool key_is_credential = false;
};

/// For how long an authority is good, and for what. Times are in seconds.
struct AuthorityTerms {
  std::int64_t before = 86'400;          ///< it is good from so long ago on, for clients with slow clocks
  std::int64_t lasts = 3652LL * 86'400;  ///< and from now on for so long
  std::vector<std::string> hosts;        ///< names, each with all names below it, and addresses; empty: any host
};

/// Makes an authority: ECDSA P-256, for server certificates only, and for no other hosts than those of the terms (name
/// constraints of RFC 5280 4.2.1.10, critical). `name` is what people see of it, at most 64 bytes. `now` is in seconds
/// since 1970.
AuthorityPem make_authority(const std::string& name, std::int64_t now, const AuthorityTerms& terms = {});

/// A certificate with its key, by which the server side of a connection proves its identity. Stays usable when its
/// authority is gone.
class Leaf {
 public:
  /// A server-side connection: at least TLS 1.2, HTTP/1.1 only, no renegotiation. A client that asks for another name
  /// (SNI) is refused.
  Ssl connection() const;
  bool is_good_at(std::int64_t now) const { return now < good_until_; }

 private:
  friend class Authority;
  Leaf(std::shared_ptr<ssl_ctx_st> settings, std::shared_ptr<x509_st> certificate, std::shared_ptr<evp_pkey_st> key,
       std::int64_t good_until);

  std::shared_ptr<ssl_ctx_st> settings_;
  std::shared_ptr<x509_st> certificate_;
  std::shared_ptr<evp_pkey_st> key_;
  std::int64_t good_until_;
};

class Authority {
 public:
  /// Loads two files in PEM form. The key must not be readable by others. Authorities above this one may follow its
  /// certificate; they are sent to clients, some of which trust only those. The error begins with the configuration key
  /// to blame: `intercept.key: …`.
  static std::expected<std::shared_ptr<const Authority>, Error> load(const AuthorityFiles& files, std::int64_t now);
  /// The same from texts; `from` names their sources in errors.
  static std::expected<std::shared_ptr<const Authority>, Error> read(const AuthorityPem& pem, std::int64_t now,
                                                                     const AuthorityFiles& from = {"it", "it"});

  /// A leaf certificate for a name, or for a literal address without brackets. It is good for thirty days; that of an
  /// authority which lasts thirty days or less, for a thirtieth of that. Takes a good part of a millisecond; any thread
  /// may call it. Null: the authority has expired, or OpenSSL failed.
  std::shared_ptr<const Leaf> sign(const std::string& host, std::int64_t now) const;
  /// When the authority, or one above it that is sent to clients, expires.
  std::int64_t good_until() const { return good_until_; }
  /// From its beginning to its own end, in seconds.
  std::int64_t lasts() const { return lasts_; }
  /// For people: what to do before it expires.
  std::string how_to_renew() const;
  bool operator==(const Authority& other) const;

 private:
  Authority(std::shared_ptr<x509_st> certificate, std::shared_ptr<evp_pkey_st> key,
            std::vector<std::shared_ptr<x509_st>> chain);

  std::shared_ptr<x509_st> certificate_;
  std::shared_ptr<evp_pkey_st> key_;
  std::vector<std::shared_ptr<x509_st>> chain_;  // sent after each leaf; empty: this one is a root
  std::shared_ptr<ssl_ctx_st> settings_;         // for the connections of all its leaves
  std::int64_t good_until_ = 0;
  std::int64_t lasts_ = 0;
};

}  // namespace penstock::tls
