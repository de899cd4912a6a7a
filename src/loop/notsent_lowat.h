// SPDX-License-Identifier: Apache-2.0
// How much the kernel takes of what a peer is not ready for.
#pragma once

namespace penstock::loop {

/// A little, and not megabytes: it comes no sooner for lying there, and a thousand peers that do not read would have
/// gigabytes copied. Of what is on its way it takes as much as ever (TCP_NOTSENT_LOWAT).
void limit_unsent(int fd);

}  // namespace penstock::loop
