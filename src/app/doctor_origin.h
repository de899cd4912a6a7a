// SPDX-License-Identifier: Apache-2.0
// An https server that answers with one word, for programs to be tried against; on loopback, on a thread of its own,
// for its lifetime.
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "loop/listener.h"
#include "loop/loop.h"
#include "tls/authority.h"

namespace penstock::app {

inline constexpr std::string_view kDoctorWord = "penstock-doctor-is-content";

class DoctorOrigin {
 public:
  /// The error says why it cannot listen.
  static std::expected<std::unique_ptr<DoctorOrigin>, std::string> start(std::shared_ptr<const tls::Leaf> leaf);
  ~DoctorOrigin();
  DoctorOrigin(const DoctorOrigin&) = delete;
  DoctorOrigin& operator=(const DoctorOrigin&) = delete;

  std::uint16_t port() const { return port_; }

 private:
  DoctorOrigin() = default;

  loop::Loop loop_;
  std::unique_ptr<loop::Listener> listener_;
  std::uint16_t port_ = 0;
  std::thread thread_;
};

}  // namespace penstock::app
