// SPDX-License-Identifier: Apache-2.0
// Memory for Lua, which asks for many small pieces and tells their sizes when it returns them: one free list for each
// size. All memory is given back at the end. One thread.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

namespace penstock::simulation {

class ScriptMemory {
 public:
  ScriptMemory() = default;
  ScriptMemory(const ScriptMemory&) = delete;
  ScriptMemory& operator=(const ScriptMemory&) = delete;

  /// A lua_Alloc; its first argument is a ScriptMemory.
  static void* change(void* memory, void* piece, std::size_t old_size, std::size_t new_size);

 private:
  static constexpr std::size_t kStep = 16, kLargest = 512, kBlock = 64 * 1024;
  struct Free {
    Free* next;
  };
  /// The index of the free list for a size; larger sizes have none.
  static constexpr std::size_t list_of(std::size_t size) { return (size + kStep - 1) / kStep - 1; }
  void* take(std::size_t size);
  void give_back(void* piece, std::size_t size);

  std::array<Free*, kLargest / kStep> free_{};
  std::vector<std::unique_ptr<std::byte[]>> blocks_;
  std::byte* unused_ = nullptr;  // the free rest of the last block
  std::size_t left_ = 0;
};

}  // namespace penstock::simulation
