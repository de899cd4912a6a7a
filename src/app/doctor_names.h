// SPDX-License-Identifier: Apache-2.0
// A name server for one name that no other server knows: so no client can reach its host past the proxy.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <thread>

namespace penstock::app {

/// A domain that never exists (RFC 6761). Not below `localhost`: some clients look up a name first, and use no proxy
/// for a name that turns out to be this machine.
inline constexpr std::string_view kDoctorHost = "doctor.invalid";

/// Listens on loopback, on a thread of its own, for its lifetime. Every name is 127.0.0.1.
class DoctorNames {
 public:
  DoctorNames();
  ~DoctorNames();
  DoctorNames(const DoctorNames&) = delete;
  DoctorNames& operator=(const DoctorNames&) = delete;

  /// `127.0.0.1:port`; empty: the server could not be started.
  std::string address() const;

 private:
  void serve() const;

  const int fd_;
  std::uint16_t port_ = 0;
  std::thread thread_;
};

}  // namespace penstock::app
