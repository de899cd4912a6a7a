// SPDX-License-Identifier: Apache-2.0
// Owns all exchanges under way, pending and in flight, by id. A slab with generations: the id of an ended exchange
// finds nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "proxy/exchange/exchange.h"

namespace penstock::proxy {

class ExchangeTable {
 public:
  using Id = std::uint64_t;

  Id add(std::unique_ptr<Exchange> exchange) {
    if (free_.empty()) {
      free_.push_back(static_cast<std::uint32_t>(places_.size()));
      places_.emplace_back();
    }
    const std::uint32_t index = free_.back();
    free_.pop_back();
    places_[index].exchange = std::move(exchange);
    ++size_;
    return (static_cast<Id>(places_[index].generation) << 32) | index;
  }

  Exchange* find(Id id) const {
    const auto index = static_cast<std::uint32_t>(id);
    if (index >= places_.size() || places_[index].generation != id >> 32) return nullptr;
    return places_[index].exchange.get();
  }

  std::unique_ptr<Exchange> remove(Id id) {
    const auto index = static_cast<std::uint32_t>(id);
    ++places_[index].generation;
    free_.push_back(index);
    --size_;
    return std::move(places_[index].exchange);
  }

  std::size_t size() const { return size_; }

  /// The current ids; exchanges may end while the caller iterates over them.
  std::vector<Id> ids() const {
    std::vector<Id> all;
    for (std::size_t i = 0; i < places_.size(); ++i) {
      if (places_[i].exchange) all.push_back((static_cast<Id>(places_[i].generation) << 32) | i);
    }
    return all;
  }

 private:
  struct Place {
    std::unique_ptr<Exchange> exchange;
    std::uint32_t generation = 0;
  };
  std::vector<Place> places_;
  std::vector<std::uint32_t> free_;
  std::size_t size_ = 0;
};

}  // namespace penstock::proxy
