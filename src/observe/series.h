// SPDX-License-Identifier: Apache-2.0
// One series of a family of metrics, which is removed from the family when this object is destroyed. No two of these
// may have the same labels. For this room only.
#pragma once

#include <prometheus/family.h>

#include <utility>

namespace penstock::observe {

template <typename Metric>
class Series {
 public:
  Series() = default;  ///< none
  template <typename... Bounds>
  Series(prometheus::Family<Metric>& family, const prometheus::Labels& labels, Bounds&&... bounds)
      : family_(&family), metric_(&family.Add(labels, std::forward<Bounds>(bounds)...)) {}
  ~Series() {
    if (metric_) family_->Remove(metric_);
  }
  Series(Series&& other) noexcept : family_(other.family_), metric_(std::exchange(other.metric_, nullptr)) {}
  Series& operator=(Series&& other) noexcept {
    std::swap(family_, other.family_);
    std::swap(metric_, other.metric_);
    return *this;
  }

  explicit operator bool() const { return metric_ != nullptr; }
  Metric* operator->() const { return metric_; }
  Metric& operator*() const { return *metric_; }

 private:
  prometheus::Family<Metric>* family_ = nullptr;
  Metric* metric_ = nullptr;
};

}  // namespace penstock::observe
