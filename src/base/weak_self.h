// SPDX-License-Identifier: Apache-2.0
// For callbacks that may run after their owner was destroyed: they hold a reference, which is null from then on. Owner
// and callbacks run on one thread; a reference may be passed through other threads in between.
#pragma once

#include <memory>
#include <utility>

namespace penstock::base {

template <typename T>
class WeakSelf {
 public:
  explicit WeakSelf(T* self) : self_(std::make_shared<T*>(self)) {}
  ~WeakSelf() { expire(); }
  WeakSelf(const WeakSelf&) = delete;
  WeakSelf& operator=(const WeakSelf&) = delete;

  class Ref {
   public:
    explicit operator bool() const { return *self_; }
    T* operator->() const { return *self_; }

   private:
    friend class WeakSelf;
    explicit Ref(std::shared_ptr<T*> self) : self_(std::move(self)) {}
    std::shared_ptr<T*> self_;
  };

  Ref ref() const { return Ref(self_); }
  /// Makes all references null now, before the owner is destroyed.
  void expire() { *self_ = nullptr; }

 private:
  const std::shared_ptr<T*> self_;
};

}  // namespace penstock::base
