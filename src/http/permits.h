// SPDX-License-Identifier: Apache-2.0
// A request for a permit: `GET /@NAME`, where NAME is an upstream that leads to no host. It is granted when its turn
// comes, and then held until the client closes the connection; `GET /@NAME?hold=no` only waits for its turn. Pure.
#pragma once

#include <expected>

#include "http/fields.h"
#include "http/gateway_rewrite.h"
#include "http/refusal.h"
#include "http/request_head.h"
#include "http/target.h"

namespace penstock::http {

/// True if the request has a `Penstock-Permit`: it is for a permit alone, and must not be sent on to a host if the
/// upstream of that name leads to one.
bool wants_permit(const Fields& request);

/// The target of a request for a permit, with its path as `resource`. Another method than GET is
/// `Reason::permit_method`; a body, a longer path or another query is `Reason::malformed`.
std::expected<Target, Refusal> permit_target(const RequestHead& head, const GatewayForm& form);

}  // namespace penstock::http
