// SPDX-License-Identifier: Apache-2.0
// A std::unique_ptr whose copy is a copy of what it points to: for a part that few objects of a class have.
#pragma once

#include <memory>
#include <utility>

namespace penstock::base {

template <typename T>
class CopiedPtr : public std::unique_ptr<T> {
 public:
  CopiedPtr() = default;
  CopiedPtr(std::unique_ptr<T> other) : std::unique_ptr<T>(std::move(other)) {}
  CopiedPtr(const CopiedPtr& other) : std::unique_ptr<T>(other ? std::make_unique<T>(*other) : nullptr) {}
  CopiedPtr(CopiedPtr&&) noexcept = default;
  CopiedPtr& operator=(CopiedPtr other) noexcept {
    std::unique_ptr<T>::operator=(std::move(other));
    return *this;
  }
};

}  // namespace penstock::base
