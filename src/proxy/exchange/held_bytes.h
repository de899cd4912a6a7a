// SPDX-License-Identifier: Apache-2.0
// What all requests of one client hold of caps.pendingMemory, in bytes. The client's connections share it with its
// requests, which may outlive them. Nothing: the bytes count for all clients together only.
#pragma once

#include <cstddef>
#include <memory>

namespace penstock::proxy {

using HeldBytes = std::shared_ptr<std::size_t>;

}  // namespace penstock::proxy
