// SPDX-License-Identifier: Apache-2.0
// How many file descriptors this process may have.
#pragma once

namespace penstock::loop {

/// At this moment: the limit may be changed while the process runs.
int most_open_files();

/// Of what can be dialled at a peer's wish, no descriptor has this number or a higher one. The kernel gives the lowest
/// that is free; those from here on are left to the admin port, to name servers, Redis and files.
int ceiling_of_dials();

}  // namespace penstock::loop
