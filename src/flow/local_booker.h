// SPDX-License-Identifier: Apache-2.0
// The booker that keeps limits in this process and answers at once. A departure is at the latest of the limits'
// frontiers; all of them commit it, or none does. Without limits every departure is now. For proxy/.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "flow/booker.h"

namespace penstock::flow {

class LocalBooker final : public Booker {
 public:
  explicit LocalBooker(std::vector<std::unique_ptr<Limit>> limits = {}) : limits_(std::move(limits)) {}

  bool ask(Time now, std::string_view group, std::size_t count, Booking& booking) override;
  void give_back(std::string_view group, Time departure) override;

 private:
  Time earliest(Time from) const;

  std::vector<std::unique_ptr<Limit>> limits_;
};

}  // namespace penstock::flow
