// SPDX-License-Identifier: Apache-2.0
// What one TLS peer can cost, whichever side it is on and whoever made the connection, OpenSSL for us or libcurl: no
// key exchange that is dear, and no end of what carries nothing.
#pragma once

struct ssl_ctx_st;
struct ssl_st;

namespace penstock::tls {

/// So many records that are not application data, and messages inside them, may come in the life of a connection:
/// handshakes, new keys, tickets, alerts. A first handshake has some twenty. OpenSSL answers each within the call that
/// reads, and reads on until there is something to hand out: without a bound a peer holds the loop for as long as it
/// speaks.
inline constexpr int kMostChatter = 256;

/// For all connections of `made` from now on. Beyond kMostChatter the input of a connection is at its end, even for a
/// call that is under way; and a call that reads ends behind each record of them, as if nothing more had come, so that
/// others have their turn. Diffie-Hellman is over elliptic curves only: a server of TLS 1.2 makes up the group that it
/// is computed in without them, and one of 10,000 bits takes a second.
void bound_costs(ssl_ctx_st* made);

/// Whether that connection has said more than kMostChatter.
bool has_chattered(const ssl_st* connection);

}  // namespace penstock::tls
