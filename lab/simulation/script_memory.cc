// SPDX-License-Identifier: Apache-2.0
// Pieces larger than the largest list come from the system.
#include "simulation/script_memory.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

namespace penstock::simulation {

void* ScriptMemory::change(void* memory, void* piece, std::size_t old_size, std::size_t new_size) {
  auto& self = *static_cast<ScriptMemory*>(memory);
  if (new_size == 0) {
    if (piece) self.give_back(piece, old_size);
    return nullptr;
  }
  if (!piece) return self.take(new_size);
  if (old_size > kLargest && new_size > kLargest) return std::realloc(piece, new_size);
  if (old_size <= kLargest && new_size <= kLargest && list_of(old_size) == list_of(new_size)) return piece;
  void* larger = self.take(new_size);
  std::memcpy(larger, piece, std::min(old_size, new_size));
  self.give_back(piece, old_size);
  return larger;
}

void* ScriptMemory::take(std::size_t size) {
  if (size > kLargest) return std::malloc(size);
  Free*& first = free_[list_of(size)];
  if (first) return std::exchange(first, first->next);
  const std::size_t whole = (list_of(size) + 1) * kStep;
  if (left_ < whole) {
    blocks_.push_back(std::make_unique_for_overwrite<std::byte[]>(kBlock));
    unused_ = blocks_.back().get(), left_ = kBlock;
  }
  left_ -= whole;
  return std::exchange(unused_, unused_ + whole);
}

void ScriptMemory::give_back(void* piece, std::size_t size) {
  if (size > kLargest) return std::free(piece);
  Free*& first = free_[list_of(size)];
  first = new (piece) Free{first};
}

}  // namespace penstock::simulation
