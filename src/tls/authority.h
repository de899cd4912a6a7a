// SPDX-License-Identifier: Apache-2.0
// The certificate authority of this machine, with which Penstock stands in for hosts towards clients that trust it: how
// it is made, once and for ten years; and the leaves that it signs, one for each host, for thirty days.
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
  /// systemd lets nobody but this service read it, whatever its mode says of the group.
  bool key_is_credential = false;
};

/// A new one: ECDSA P-256, good for ten years, for servers' certificates only. `name` is what people see of it, at most
/// 64 bytes. Times are in seconds since 1970.
AuthorityPem make_authority(const std::string& name, std::int64_t now);

/// What the server's side of a connection proves itself by. Stays good when its authority is gone.
class Leaf {
 public:
  /// At least TLS 1.2, HTTP/1.1 only, no renegotiation. A client that asks for another name (SNI) is turned away.
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
  /// From two files in PEM form. The key must not be readable by others. Behind the certificate those of
  /// authorities above it may follow: clients that trust only these are shown the way. The error begins with the key of
  /// the configuration that is to blame: `intercept.key: …`.
  static std::expected<std::shared_ptr<const Authority>, Error> load(const AuthorityFiles& files, std::int64_t now);
  /// The same from texts; `from` is where they are from, for errors.
  static std::expected<std::shared_ptr<const Authority>, Error> read(const AuthorityPem& pem, std::int64_t now,
                                                                     const AuthorityFiles& from = {"it", "it"});

  /// For a name, or a literal address without brackets. Takes a good part of a millisecond; any thread may call it.
  /// Nothing: it has expired, or OpenSSL cannot.
  std::shared_ptr<const Leaf> sign(const std::string& host, std::int64_t now) const;
  /// Until when it is good, and with it those above it whom clients are shown.
  std::int64_t good_until() const { return good_until_; }
  /// For people: what to do before that.
  std::string how_to_renew() const;
  bool operator==(const Authority& other) const;

 private:
  Authority(std::shared_ptr<x509_st> certificate, std::shared_ptr<evp_pkey_st> key,
            std::vector<std::shared_ptr<x509_st>> chain);

  std::shared_ptr<x509_st> certificate_;
  std::shared_ptr<evp_pkey_st> key_;
  std::vector<std::shared_ptr<x509_st>> chain_;  // shown behind each leaf; empty: this one is a root
  std::shared_ptr<ssl_ctx_st> settings_;         // of all its leaves' connections
  std::int64_t good_until_ = 0;
};

}  // namespace penstock::tls
