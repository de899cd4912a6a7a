// SPDX-License-Identifier: Apache-2.0
// The authorities that TLS to upstreams trusts if the configuration names none.
#pragma once

#include <array>
#include <string>

namespace penstock::tls {

/// Where systems keep them in one file: Debian, Fedora, Alpine, SUSE, RHEL. Ordered: the first that exists is taken.
inline constexpr std::array kSystemAuthorities{
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/cert.pem",
    "/etc/ssl/ca-bundle.pem",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
};

/// The file that SSL_CERT_FILE names, an administrator's choice for all programs; else the system's. Where none exists
/// it is the first place, which cannot be read. `root`: a folder in place of `/`, for tests.
std::string system_authorities(const std::string& root = {});

}  // namespace penstock::tls
