// SPDX-License-Identifier: Apache-2.0
// A certificate authority for tests, made at run time with fresh keys. Its certificate and those it issues are PEM
// files in a folder that is deleted with it.
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace penstock::test {

/// The contents of a certificate.
struct Wanted {
  std::vector<std::string> names{"good.test", "localhost"};
  std::vector<std::string> addresses{"127.0.0.1"};
  std::string key = "P-256";  ///< the name of a curve, or RSA with its bits: RSA-4096
  std::string common_name = "a certificate of the tests";
  bool expired = false;      ///< since yesterday
  bool not_yet = false;      ///< valid from tomorrow
  bool self_signed = false;  ///< instead of by the authority
};

/// The paths of two PEM files.
struct Issued {
  std::string certificate, key;
};

class Authority {
 public:
  Authority();
  ~Authority();
  Authority(const Authority&) = delete;

  /// The path of its own certificate: for `curl --cacert`, `tls.ca`, SSL_CERT_FILE.
  const std::string& file() const;
  /// The path of its private key, readable by the owner only: for `intercept.key`.
  const std::string& key_file() const;
  /// The path of the folder; a test may put other files there.
  const std::string& folder() const;
  /// The certificate is valid for servers and clients.
  Issued issue(const Wanted& wanted = {});

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace penstock::test
