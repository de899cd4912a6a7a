// SPDX-License-Identifier: Apache-2.0
// For callbacks that may come when their owner has gone: they hold a reference that is null from then on. Owner and
// callbacks are of one thread; a reference may pass through others on its way.
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
  /// All references are null from now on, before the owner's end.
  void expire() { *self_ = nullptr; }

 private:
  const std::shared_ptr<T*> self_;
};

}  // namespace penstock::base
