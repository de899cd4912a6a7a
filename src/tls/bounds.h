// SPDX-License-Identifier: Apache-2.0
// Bounds what one TLS peer can cost, on either side and for connections made by OpenSSL here or in libcurl: no
// expensive key exchange, and no endless stream of records without application data.
#pragma once

struct ssl_ctx_st;
struct ssl_st;

namespace penstock::tls {

/// The most records other than application data, and messages inside them, in the life of a connection: handshakes, key
/// updates, tickets, alerts. A first handshake has some twenty. OpenSSL answers each inside the reading call and reads
/// on until it has data to hand out; without a bound a peer could hold the loop as long as it likes.
inline constexpr int kMostChatter = 256;

/// Applies to all later connections of `made`. Beyond kMostChatter a connection's input is at its end, even for a call
/// under way. A reading call ends after each such record as if nothing more had come, so that other connections get
/// their share. Only elliptic-curve Diffie-Hellman is allowed: a TLS 1.2 server chooses the group of the finite-field
/// kind, and one of 10,000 bits takes a second.
void bound_costs(ssl_ctx_st* made);

/// Whether the connection has exceeded kMostChatter.
bool has_chattered(const ssl_st* connection);

}  // namespace penstock::tls
