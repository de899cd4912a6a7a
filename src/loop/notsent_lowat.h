// SPDX-License-Identifier: Apache-2.0
// Caps unsent bytes in the kernel's send buffer (TCP_NOTSENT_LOWAT).
#pragma once

namespace penstock::loop {

/// Caps them at Stream::kHighWater: they arrive no sooner for lying in the kernel, and a thousand peers that do not
/// read would have gigabytes copied there. Bytes that are on their way are not limited.
void limit_unsent(int fd);

}  // namespace penstock::loop
