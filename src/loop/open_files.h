// SPDX-License-Identifier: Apache-2.0
// How many file descriptors this process may have.
#pragma once

namespace penstock::loop {

/// At this moment: the limit may be changed while the process runs.
int most_open_files();

}  // namespace penstock::loop
