// SPDX-License-Identifier: Apache-2.0
// A certificate authority of the tests' own, made at run time with keys that nobody else has: its certificate and those
// that it issues lie as PEM files in a folder that goes with it.
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace penstock::test {

/// What a certificate says.
struct Wanted {
  std::vector<std::string> names{"good.test", "localhost"};
  std::vector<std::string> addresses{"127.0.0.1"};
  std::string key = "P-256";  ///< the name of a curve, or RSA and its bits: RSA-4096
  std::string common_name = "a certificate of the tests";
  bool expired = false;      ///< since yesterday
  bool not_yet = false;      ///< valid from tomorrow
  bool self_signed = false;  ///< by nobody else
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
  /// Of its own key, which only its owner may read: for `intercept.key`.
  const std::string& key_file() const;
  /// Of the folder, which takes other files of a test too.
  const std::string& folder() const;
  /// Good for servers and clients.
  Issued issue(const Wanted& wanted = {});

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace penstock::test
