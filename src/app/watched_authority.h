// SPDX-License-Identifier: Apache-2.0
// The authority of interception in use, and the warnings that it ends soon. For the engine.
#pragma once

#include <memory>
#include <string>

#include "penstock/event.h"
#include "tls/authority.h"

namespace penstock::app {

class WatchedAuthority {
 public:
  explicit WatchedAuthority(NoticeSink notices);

  /// Null: nothing is intercepted. Warns at once if it ends soon.
  void change(std::shared_ptr<const tls::Authority> authority);
  const std::shared_ptr<const tls::Authority>& get() const { return authority_; }
  /// Warns once a day in its last month: a program that is never reloaded learns of it in no other way.
  void look();

 private:
  const NoticeSink notices_;
  std::shared_ptr<const tls::Authority> authority_;
  std::string told_;  // the warning of its end, as last given
};

}  // namespace penstock::app
