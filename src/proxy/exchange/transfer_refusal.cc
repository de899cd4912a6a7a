// SPDX-License-Identifier: Apache-2.0
// See transfer_refusal.h.
#include "proxy/exchange/transfer_refusal.h"

#include <string>
#include <string_view>

namespace penstock::proxy {

namespace {
http::Reason why_of(transfer::Failure failure) {
  using transfer::Failure;
  switch (failure) {
    case Failure::denied: return http::Reason::destination_denied;
    case Failure::refused: return http::Reason::connection_refused;
    case Failure::unroutable: return http::Reason::destination_unroutable;
    case Failure::connect_timeout: return http::Reason::connection_timeout;
    case Failure::no_descriptors: return http::Reason::destination_unavailable;
    case Failure::stale_connection:
    case Failure::not_sent:
    case Failure::terminated: return http::Reason::connection_terminated;
    case Failure::incomplete: return http::Reason::response_incomplete;
    case Failure::coding: return http::Reason::response_coding;
    case Failure::head_too_large: return http::Reason::response_head_too_large;
    case Failure::protocol: return http::Reason::protocol_error;
    case Failure::certificate: return http::Reason::tls_certificate_error;
    case Failure::tls: return http::Reason::tls_protocol_error;
    case Failure::none:
    case Failure::stopped:
    case Failure::internal: break;
  }
  return http::Reason::internal_error;
}

std::string_view sentence(transfer::Failure failure) {
  using transfer::Failure;
  switch (failure) {
    case Failure::denied: return "its address may not be dialled (access.allow)";
    case Failure::refused: return "the connection was refused";
    case Failure::unroutable: return "there is no route to it";
    case Failure::connect_timeout: return "no connection came about in time (timeouts.connect)";
    case Failure::no_descriptors: return "no file descriptor is left for a connection";
    case Failure::stale_connection:
    case Failure::not_sent:
    case Failure::terminated: return "the connection was closed before an answer came";
    case Failure::incomplete: return "the answer broke off";
    case Failure::coding: return "the answer's chunks are broken";
    case Failure::head_too_large: return "the answer's head is too large";
    case Failure::protocol: return "what came is not an HTTP/1 answer";
    case Failure::certificate:
    case Failure::tls:
    case Failure::none:
    case Failure::stopped:
    case Failure::internal: break;
  }
  return "";
}
}  // namespace

http::Refusal refusal_of(const transfer::Result& failed) {
  const auto said = sentence(failed.failure);
  return {.why = why_of(failed.failure), .details = said.empty() ? failed.details : std::string(said)};
}

}  // namespace penstock::proxy
