// SPDX-License-Identifier: Apache-2.0
// See permits.h.
#include "http/permits.h"

namespace penstock::http {

bool wants_permit(const Fields& request) { return request.find("penstock-permit").has_value(); }

std::expected<Target, Refusal> permit_target(const RequestHead& head, const GatewayForm& form) {
  if (head.method != "GET") {
    return std::unexpected(
        Refusal{.why = Reason::permit_method, .details = "a permit is asked for by GET", .allow = "GET"});
  }
  if (head.has_body()) return malformed("a request for a permit has no body");
  const bool held = form.rest.empty(), momentary = form.rest == "?hold=no";
  if (!held && !momentary) return malformed("a permit has neither a path nor a query, but for ?hold=no");
  Target target;
  target.resource.append("/@").append(form.name).append(form.rest);
  target.permit = held ? Target::Permit::held : Target::Permit::momentary;
  return target;
}

}  // namespace penstock::http
