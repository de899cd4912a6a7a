// SPDX-License-Identifier: Apache-2.0
// How many file descriptors this process may have.
#pragma once

namespace penstock::loop {

/// The limit at this moment; it may be changed while the process runs.
int most_open_files();

/// Sockets dialled at a peer's wish must have descriptors below this number. The kernel gives the lowest free number,
/// so those from here on stay free for the admin port, name servers, Redis and files.
int ceiling_of_dials();

}  // namespace penstock::loop
