// SPDX-License-Identifier: Apache-2.0
// What all requests of one client hold of caps.pendingMemory, in bytes. Shared by the client's connections and its
// requests, which may outlive the connections. Null: the bytes count only towards the total of all clients.
#pragma once

#include <cstddef>
#include <memory>

namespace penstock::proxy {

using HeldBytes = std::shared_ptr<std::size_t>;

}  // namespace penstock::proxy
